package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// SeekerPersonalData implements jobseeker.PersonalData.
type SeekerPersonalData struct{ *DB }

// DeleteByUser implements jobseeker.PersonalData.
func (d SeekerPersonalData) DeleteByUser(ctx context.Context, userID string, now time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		q := func() *gorm.DB { return d.q(ctx) }
		byUser := func() *gorm.DB { return q().Where("user_id = ?", userID) }
		searches := byUser().Model(&savedSearchRow{}).Select("id")
		return wrap(firstError(
			q().Where("search_id IN (?)", searches).Delete(&matchRow{}).Error,
			byUser().Delete(&savedSearchRow{}).Error,
			byUser().Delete(&bookmarkRow{}).Error,
			byUser().Delete(&dismissalRow{}).Error,
			byUser().Model(&documentFileRow{}).Update("free_at", now).Error,
			byUser().Delete(&documentRow{}).Error,
			byUser().Where("deleted_at IS NULL").Delete(&notificationRow{}).Error,
			byUser().Delete(&activityRow{}).Error,
			q().Where("visitor_kind = ? AND visitor = ?", userVisitor, userID).Delete(&onboardingRow{}).Error,
			byUser().Delete(&seekerRow{}).Error))
	})
}
