package jobseeker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// Search is a saved search.
type Search struct {
	ID     string
	UserID string
	Name   string
	Terms
	// Resolved is the query with misspelt words replaced, as alerts evaluate it. It is
	// empty if the process had no search index when the search was saved, until
	// ResolveSearches has resolved the query.
	Resolved string
	// EmailAlerts is true if new matches are mailed in a digest.
	EmailAlerts bool
	CreatedAt   time.Time
}

// Terms are the query and filters of a search, as the public search takes them.
type Terms struct {
	Query        string
	Location     string
	ContractType string // empty for all types
}

// MaxSearches is the maximum number of saved searches of a user.
const MaxSearches = 50

// The limits of names and queries, in characters.
const (
	maxName  = 200
	maxQuery = 200
)

// SearchService implements the use cases of saved searches, and the alerts and digests
// about new listings that they find.
type SearchService struct {
	*Shared
	// Account changes the preferences of the profile, and provides the addresses of users.
	Account    *ProfileService
	Searches   Searches
	AlertQueue AlertQueue
	Matches    Matches
	// Subscribers are the recipients of alerts without an account.
	Subscribers Subscribers
	Mailboxes   Mailboxes
	Limiter     limit.Limiter
	Mailer      mail.Mailer
	Sealer      auth.Sealer
	// PublicURL is the base of the links in mails.
	PublicURL string
	// HasSite reports whether the site with the pages of saved searches is served.
	HasSite bool
}

// SaveSearchInput is the search to save.
type SaveSearchInput struct {
	Name         string `json:"name" validate:"max=200"`
	Query        string `json:"query" validate:"max=200"`
	Location     string `json:"location" validate:"max=200"`
	ContractType string `json:"contractType" validate:"oneof='' permanent temporary contract"`
	EmailAlerts  bool   `json:"emailAlerts"`
}

// terms returns the terms without surrounding spaces.
func (in SaveSearchInput) terms() Terms {
	return Terms{Query: strings.TrimSpace(in.Query), Location: strings.TrimSpace(in.Location), ContractType: in.ContractType}
}

// Problems returns an error if no term is set: a saved search needs at least one.
func (in SaveSearchInput) Problems() []fault.Field {
	if in.terms() == (Terms{}) {
		return []fault.Field{{Name: "query", Message: "is required without a location and a contractType"}}
	}

	return nil
}

// SaveSearch stores a search for the caller and returns all of the caller's searches.
func (s *SearchService) SaveSearch(ctx context.Context, by auth.Actor, in SaveSearchInput) (all []Search, err error) {
	search, err := newSearch(by, in)
	if err != nil {
		return nil, err
	}

	isAnother := func(Search) bool { return false }
	all, _, err = s.createSearch(ctx, by, search, isAnother)

	return all, err
}

// SaveOutcome is what SaveSearchOnce has changed.
type SaveOutcome string

// The outcomes.
const (
	SearchCreated   SaveOutcome = "created"
	AlertsEnabled   SaveOutcome = "alerts-enabled"
	SearchUnchanged SaveOutcome = "unchanged"
)

// SaveSearchOnce stores a search for the caller, unless the caller has saved the same search
// before. A search is the same if it has the same terms and, if the input has a name, the same
// name. The alerts of the earlier search are then turned on if the input asks for them.
func (s *SearchService) SaveSearchOnce(ctx context.Context, by auth.Actor, in SaveSearchInput) (SaveOutcome, error) {
	search, err := newSearch(by, in)
	if err != nil {
		return "", err
	}

	isSame := func(earlier Search) bool {
		return earlier.Terms == search.Terms && (text.Name(in.Name) == "" || earlier.Name == search.Name)
	}

	existing, err := s.Searches.ListByUser(ctx, by.UserID, MaxSearches)
	if err != nil {
		return "", err
	}

	if i := slices.IndexFunc(existing, isSame); i >= 0 {
		if existing[i].EmailAlerts || !in.EmailAlerts {
			return SearchUnchanged, nil
		}

		const enabled = true

		return AlertsEnabled, s.SetAlerts(ctx, by, existing[i].ID, enabled)
	}

	_, isCreated, err := s.createSearch(ctx, by, search, isSame)
	if !isCreated {
		return SearchUnchanged, err
	}

	return SearchCreated, err
}

// newSearch returns the caller's search from the input, without an id.
func newSearch(by auth.Actor, in SaveSearchInput) (Search, error) {
	search := Search{UserID: by.UserID, Name: text.Name(in.Name), EmailAlerts: in.EmailAlerts, Terms: in.terms()}
	if search.Name == "" {
		search.Name = search.Label()
	}

	return search, cmp.Or(by.RequireSeeker(), valid.Check("", in))
}

// createSearch stores the search, unless isSame reports that one of the caller's searches is the
// same. It returns all of the caller's searches, and whether it has stored the search.
func (s *SearchService) createSearch(
	ctx context.Context,
	by auth.Actor,
	search Search,
	isSame func(earlier Search) bool,
) (all []Search, isCreated bool, err error) {
	// This first check avoids resolving the query in vain, which takes time. The
	// transaction checks the limit again while it has locked the user's data.
	if _, err := s.searchesBelowLimit(ctx, by.UserID); err != nil {
		return nil, false, err
	}

	if search.Resolved, err = s.resolve(ctx, search.Query); err != nil {
		return nil, false, err
	}

	err = s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		existing, err := s.searchesBelowLimit(ctx, by.UserID)
		if err != nil {
			return err
		}

		if isCreated = !slices.ContainsFunc(existing, isSame); !isCreated {
			all = existing
			return nil
		}

		search.ID = s.NewID()
		search.CreatedAt = s.Clock.Now()

		all = append([]Search{search}, existing...)
		if err := s.Searches.Replace(ctx, by.UserID, all); err != nil {
			return err
		}

		return s.addActivity(ctx, by, "search", "saved", "Saved the search "+search.Name)
	})

	return all, isCreated, err
}

// searchesBelowLimit returns the user's searches, or ErrTooManySearches if the user has
// MaxSearches already.
func (s *SearchService) searchesBelowLimit(ctx context.Context, userID string) ([]Search, error) {
	searches, err := s.Searches.ListByUser(ctx, userID, MaxSearches)
	if err == nil && len(searches) >= MaxSearches {
		err = ErrTooManySearches
	}

	return searches, err
}

// resolve returns the query with misspelt words replaced, or an empty text if the process
// has no search index.
func (s *SearchService) resolve(ctx context.Context, query string) (string, error) {
	if query == "" {
		return "", nil
	}

	return s.Listings.Resolve(ctx, query)
}

// ResolveSearches resolves the queries of searches that were saved while the process had
// no search index. It changes nothing while there still is none.
func (s *SearchService) ResolveSearches(ctx context.Context) error {
	for {
		searches, err := s.Searches.List(ctx, SearchFilter{Unresolved: true}, searchBatchSize)
		if err != nil {
			return err
		}

		resolved, resolveErr := s.resolveAll(ctx, searches)

		// Queries that were resolved before an error are stored too.
		err = errors.Join(s.Searches.UpdateResolved(ctx, resolved), resolveErr)
		if err != nil {
			return err
		}

		// A smaller number means that no search is left, or that there is no search index.
		if len(resolved) < searchBatchSize {
			return nil
		}
	}
}

// resolveAll maps the ids of searches to their resolved queries. It stops without an error at
// the first query that cannot be resolved because the process has no search index.
func (s *SearchService) resolveAll(ctx context.Context, searches []Search) (resolved map[string]string, err error) {
	resolved = map[string]string{}
	for _, search := range searches {
		query, err := s.resolve(ctx, search.Query)
		if err != nil || query == "" {
			return resolved, err
		}

		resolved[search.ID] = query
	}

	return resolved, nil
}

// SetAlerts turns the e-mail alerts of one of the caller's searches on or off.
func (s *SearchService) SetAlerts(ctx context.Context, by auth.Actor, searchID string, enabled bool) error {
	searchID, err := requireSeekerAndID(by, searchID, ErrSearchNotFound)
	if err != nil {
		return err
	}

	return s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		searches, err := s.Searches.ListByUser(ctx, by.UserID, MaxSearches)
		if err != nil {
			return err
		}

		i := slices.IndexFunc(searches, func(search Search) bool { return search.ID == searchID })
		if i < 0 {
			return ErrSearchNotFound
		}

		searches[i].EmailAlerts = enabled

		return s.Searches.Replace(ctx, by.UserID, searches)
	})
}

// MySearches lists the caller's searches, newest first.
func (s *SearchService) MySearches(ctx context.Context, by auth.Actor) ([]Search, error) {
	if err := by.RequireSeeker(); err != nil {
		return nil, err
	}

	return s.Searches.ListByUser(ctx, by.UserID, MaxSearches)
}

// DeleteSearch deletes one of the caller's searches and returns the others.
func (s *SearchService) DeleteSearch(ctx context.Context, by auth.Actor, searchID string) (rest []Search, err error) {
	if err := cmp.Or(by.RequireSeeker(), valid.Value("searchId", searchID, "required")); err != nil {
		return nil, err
	}

	if searchID, err = requireSeekerAndID(by, searchID, ErrSearchNotFound); err != nil {
		return nil, err
	}

	err = s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		searches, err := s.Searches.ListByUser(ctx, by.UserID, MaxSearches)
		if err != nil {
			return err
		}

		i := slices.IndexFunc(searches, func(search Search) bool { return search.ID == searchID })
		if i < 0 {
			return ErrSearchNotFound
		}

		name := searches[i].Name

		rest = slices.Delete(searches, i, i+1)
		if err := s.Searches.Replace(ctx, by.UserID, rest); err != nil {
			return err
		}

		return s.addActivity(ctx, by, "search", "deleted", "Deleted the search "+name)
	})

	return rest, err
}

// UpdateJobPreferences changes the caller's preferences, which are fields of the profile, and returns the
// caller's searches.
func (s *SearchService) UpdateJobPreferences(ctx context.Context, by auth.Actor, in ProfileInput) (all []Search, err error) {
	const noPrefix = "" // the request contains the fields of the profile at its top level

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if _, err := s.Account.changeProfile(ctx, by, noPrefix, in); err != nil {
			return err
		}

		all, err = s.Searches.ListByUser(ctx, by.UserID, MaxSearches)

		return err
	})

	return all, err
}
