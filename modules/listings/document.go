package listings

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings/search"
)

// analyze returns the document of the listing. It recovers from a panic, which it logs, and
// returns nil, so that one listing cannot prevent the indexing of the others.
func (l *Listing) analyze(v *search.Vocabulary, log *slog.Logger) (d *search.Document) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("listing cannot be analyzed and is left out", "listing", l.ID, "panic", p)
		}
	}()

	return l.document(v)
}

// documentFormat is the version of the documents that document returns. It has to be changed
// whenever document returns other documents for the same listings, because an index with documents
// of another version is built anew.
const documentFormat = ".3"

// documentVersion returns the version of documents that are annotated with the vocabulary.
func documentVersion(v *search.Vocabulary) string { return v.Version() + documentFormat }

// document returns the listing in the form in which a search index stores it.
func (l *Listing) document(v *search.Vocabulary) *search.Document {
	d := &search.Document{
		ID: l.ID, Version: l.Version, Keys: l.keys(v),
		Title: search.WordsOf(l.Title), Body: search.WordsOf(l.texts()...),
		SortTitle: search.LowerASCII(l.Title), SortLocation: search.LowerASCII(l.Location),
	}
	if l.PostedAt != nil {
		d.PostedAt = *l.PostedAt
	}

	if l.Deadline != nil {
		d.Deadline = *l.Deadline
	}

	if l.Salary != nil {
		low, high := l.Salary.Yearly()
		d.Pay = &search.PayRange{Min: low, Max: high, Currency: l.Salary.Currency}
	}

	// Remote work has no distance, and neither has a place that is larger than a town. Such
	// listings are the last of a list by distance.
	if l.Place != nil && l.Place.Kind == Town && !l.Remote {
		d.Point = pointOf(l.Place)
	}

	return d
}

// pointOf returns the coordinates of the place.
func pointOf(p *Place) *search.Point { return &search.Point{Lat: p.Lat, Lon: p.Lon} }

// texts returns the texts whose words are searched, without the title.
func (l *Listing) texts() []string {
	fields := []string{l.Specialty, l.Department, l.Company, l.Location, l.Description}
	return slices.Concat(fields, l.Requirements, l.Benefits)
}

// keys returns the texts other than words by which the listing is found: concepts (entries of
// the vocabulary, such as a role), places and filter values, each with a prefix for its kind.
func (l *Listing) keys(v *search.Vocabulary) []string {
	advert := search.Advert{
		Title:          l.Title,
		Company:        l.Company,
		Department:     l.Department,
		Specialty:      l.Specialty,
		Description:    l.Description,
		Requirements:   l.Requirements,
		ContractType:   l.ContractType,
		EmploymentType: l.EmploymentType,
		Remote:         l.Remote,
	}
	if l.Place != nil {
		advert.Country = strings.ToLower(l.Place.Country)
	}

	// The annotation has a tag for each concept that the advert mentions, with a level that
	// says where.
	annotation := v.Annotate(&advert)
	keys := append(annotation.Keys(), search.PlaceKeys(l.Place, l.Remote)...)

	keys = append(keys, search.EmployerKeys(l.Company)...)
	if l.ContractType != "" {
		keys = append(keys, keyContractType+l.ContractType)
	}

	if l.EmploymentType != "" {
		keys = append(keys, keyEmploymentType+l.EmploymentType)
	}

	if strings.TrimSpace(l.Specialty) != "" {
		keys = append(keys, keySpecialtyField+specialtyKey(l.Specialty))
	}

	for _, tag := range annotation.Tags {
		// A description may mention any specialty.
		isOwnSpecialty := tag.Kind == search.Specialty && tag.Level != search.InText

		// A title or a field may also name the roles of others, as in "secretary to the
		// director". The main role of the title has a level of its own. A description is only
		// tagged with roles that it asks for.
		mayBeOfOthers := tag.Level == search.InTitle || tag.Level == search.InField
		isOwnRole := tag.Kind == search.Role && !mayBeOfOthers

		switch {
		case isOwnSpecialty:
			keys = append(keys, keySpecialty+tag.Concept)
		case isOwnRole:
			keys = append(keys, keyRole+tag.Concept)
		}
	}

	for _, w := range search.WordsOf(l.Location) {
		if w != "" {
			keys = append(keys, keyLocation+w)
		}
	}

	if l.Company != "" {
		keys = append(keys, nameKey(keyEmployerName, l.Company))
	}

	keys = append(keys, keyOrganization+l.OrganizationID)
	if l.Place != nil {
		keys = append(keys, nameKey(keyPlaceName, l.Place.Label()))
	}

	slices.Sort(keys)

	return slices.Compact(keys)
}

// nameKey returns the key of a name. It consists of the folded name, by whose beginning the
// key is found, and the name as it is written.
func nameKey(prefix, name string) string { return prefix + foldedName(name) + nameSeparator + name }

// nameSeparator separates the two parts of a name key. It is removed from the folded name.
const nameSeparator = "|"

// foldedName returns the normalized words of a name, separated by spaces.
func foldedName(name string) string {
	return strings.TrimSpace(strings.Join(search.WordsOf(strings.ReplaceAll(name, nameSeparator, " ")), " "))
}

// specialtyKey returns the normalized words of a specialty, which are equal in the field of a
// listing and in a filter.
func specialtyKey(s string) string { return foldedName(s) }

// The prefixes of the keys for filters and facets.
const (
	keyContractType   = "contractType:"
	keyEmploymentType = "employmentType:"
	keyRole           = "role:"            // a concept that the filter role finds (search.Is)
	keySpecialty      = "specialty:"       // a concept in the title or a field
	keySpecialtyField = "specialty.words:" // the field as it was written
	keyLocation       = "location:"        // a word of the location
	keyOrganization   = "organization:"    // the id
	keyEmployerName   = "employer.name:"   // the company, for suggestions by the beginning of its name
	keyPlaceName      = "place.name:"      // the place, for suggestions too
)
