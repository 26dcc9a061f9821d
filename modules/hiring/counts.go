package hiring

import "context"

// ApplicationCounts counts applications for other modules.
type ApplicationCounts interface {
	// CountByListing counts the applications, withdrawn ones included, to the
	// organization's listings with the ids. Listings without any are left out.
	CountByListing(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error)
}
