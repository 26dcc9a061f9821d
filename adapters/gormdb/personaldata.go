package gormdb

import (
	"cmp"
	"context"
	"time"

	"gorm.io/gorm"
)

// seekerData implements jobseeker.PersonalData.
type seekerData struct{ *DB }

// DeleteByUser implements jobseeker.PersonalData.
func (d seekerData) DeleteByUser(ctx context.Context, userID string, now time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		byUser := func() *gorm.DB { return d.q(ctx).Where("user_id = ?", userID) }
		searches := byUser().Model(&savedSearchRow{}).Select("id")
		return cmp.Or(
			wrap(d.q(ctx).Where("search_id IN (?)", searches).Delete(&matchRow{}).Error),
			wrap(byUser().Model(&documentFileRow{}).Update("free_at", now).Error),
			wrap(byUser().Where("deleted_at IS NULL").Delete(&notificationRow{}).Error),
			wrap(d.q(ctx).Where("visitor_kind = ? AND visitor = ?", userVisitor, userID).Delete(&onboardingRow{}).Error),
			deleteFrom(byUser(), savedSearchRow{}, bookmarkRow{}, dismissalRow{}, documentRow{}, activityRow{}, seekerRow{}))
	})
}
