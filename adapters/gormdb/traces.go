package gormdb

import "context"

// Traces removes what is kept of a user.
type Traces struct{ *DB }

// Remove implements jobseeker.Traces. Notifications that the user deleted are
// empty and stay for their time.
func (d Traces) Remove(ctx context.Context, userID string) error {
	for _, statement := range []string{
		`DELETE FROM search_matches WHERE search_id IN (SELECT id FROM saved_searches WHERE user_id = ?)`,
		`DELETE FROM saved_searches WHERE user_id = ?`,
		`DELETE FROM bookmarks WHERE user_id = ?`,
		`DELETE FROM documents WHERE user_id = ?`,
		`DELETE FROM notifications WHERE user_id = ? AND deleted_at IS NULL`,
		`DELETE FROM activities WHERE user_id = ?`,
		`DELETE FROM seekers WHERE user_id = ?`,
	} {
		if err := d.q(ctx).Exec(statement, userID).Error; err != nil {
			return wrap(err)
		}
	}
	return nil
}
