package gormdb

import (
	"context"
	"strings"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// part is one side of a sight: a condition that an index serves in the order of
// ids.
type part struct {
	where string
	args  []any
}

// parts are the sides of a sight, which have no row in common.
func parts(v hiring.Sight) (out []part) {
	if v.OrganizationID != "" {
		out = append(out, part{"organization_id = ?", []any{v.OrganizationID}})
	}
	if v.ApplicantID != "" {
		p := part{"applicant_id = ? AND withdrawn_at IS NULL", []any{v.ApplicantID}}
		if v.OrganizationID != "" {
			p.where, p.args = p.where+" AND organization_id <> ?", append(p.args, v.OrganizationID)
		}
		out = append(out, p)
	}
	return out
}

func (p part) and(where string, args ...any) part {
	return part{p.where + " AND " + where, append(p.args, args...)}
}

func (d Applications) narrowed(p part, f hiring.SeenFilter) part {
	if f.ListingID != "" {
		p = p.and("listing_id = ?", f.ListingID)
	}
	if f.ApplicantID != "" {
		p = p.and("applicant_id = ?", f.ApplicantID)
	}
	if len(f.Statuses) > 0 {
		p = p.and("status IN ?", f.Statuses)
	}
	if !f.After.IsZero() {
		p = p.and("applied_at >= ?", d.dialect.Typed(f.After, "timestamptz"))
	}
	if !f.Before.IsZero() {
		p = p.and("applied_at < ?", d.dialect.Typed(f.Before, "timestamptz"))
	}
	return p
}

// PageSeen implements hiring.Applications. Each side gives its newest ids up to
// the end of the page, and the rows are read for those of the page alone.
func (d Applications) PageSeen(ctx context.Context, v hiring.Sight, f hiring.SeenFilter, r page.Request) (out page.Result[hiring.Application], err error) {
	offset := r.Offset()
	if r.Cursor != "" {
		offset = 0
	}
	var found, counted []string
	var foundArgs, countedArgs []any
	for _, p := range parts(v) {
		p = d.narrowed(p, f)
		counted = append(counted, "SELECT * FROM (SELECT 1 FROM applications WHERE "+p.where+" LIMIT ?) AS side")
		countedArgs = append(append(countedArgs, p.args...), page.MaxExact+1)
		if r.Cursor != "" {
			p = p.and("id < ?", r.Cursor)
		}
		found = append(found, "SELECT * FROM (SELECT id FROM applications WHERE "+p.where+" ORDER BY id DESC LIMIT ?) AS side")
		foundArgs = append(append(foundArgs, p.args...), offset+r.Size+1)
	}
	var ids []string
	err = d.unprepared(ctx).Raw(strings.Join(found, " UNION ALL ")+" ORDER BY id DESC LIMIT ? OFFSET ?", append(foundArgs, r.Size+1, offset)...).Scan(&ids).Error
	if err != nil {
		return out, wrap(err)
	}
	if err := d.unprepared(ctx).Raw("SELECT COUNT(*) FROM ("+strings.Join(counted, " UNION ALL ")+") AS counted", countedArgs...).Scan(&out.Total).Error; err != nil {
		return out, wrap(err)
	}
	if out.Total > page.MaxExact {
		out.Total, out.TotalIsEstimate = page.MaxExact, true
	}
	if len(ids) > r.Size {
		ids = ids[:r.Size]
		out.NextCursor = ids[r.Size-1]
	}
	out.Items = []hiring.Application{}
	if len(ids) == 0 {
		return out, nil
	}
	var rows []applicationRow
	where, args := seenBy(v)
	if err := d.q(ctx).Where("?", d.dialect.In("id", ids)).Where(where, args...).Order("id DESC").Find(&rows).Error; err != nil {
		return out, wrap(err)
	}
	out.Items, err = applicationsOf(rows)
	return out, err
}

// Seen implements hiring.Applications.
func (d Applications) Seen(ctx context.Context, v hiring.Sight, id string) (hiring.Application, error) {
	var r applicationRow
	where, args := seenBy(v)
	if err := d.q(ctx).Where("id = ?", id).Where(where, args...).Take(&r).Error; err != nil {
		return hiring.Application{}, orNotFound(err, hiring.ErrNotFound)
	}
	return r.application()
}

// seenBy is the sight as one condition, for rows whose ids are known.
func seenBy(v hiring.Sight) (where string, args []any) {
	var sides []string
	for _, p := range parts(v) {
		sides, args = append(sides, "("+p.where+")"), append(args, p.args...)
	}
	return strings.Join(sides, " OR "), args
}
