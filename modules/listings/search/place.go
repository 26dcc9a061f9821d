package search

// PlaceKind is the size of a place.
type PlaceKind string

// The kinds of place.
const (
	Town    PlaceKind = "town"
	Region  PlaceKind = "region"
	Country PlaceKind = "country"
)

// Place is a place of the gazetteer, the list of places.
type Place struct {
	Kind    PlaceKind
	Name    string // as shown: Leeds; of a postcode also its district: LS1, Leeds
	Region  string // county, state or province, or empty
	Nation  string // the code of the nation or province between region and country, or empty: ENG
	Country string // ISO 3166-1 alpha-2
	// Lat and Lon are the centre in degrees.
	Lat, Lon float64
	// Population is 0 for regions, countries and postcodes.
	Population int
	// Regions are the regions that an area such as Yorkshire consists of, nil
	// for every other place.
	Regions []string
}

// Places resolves names of places.
type Places interface {
	// Resolve finds the place of a name, such as "Leeds", "Kent", "Ireland" or
	// "Boston, Lincolnshire". Of several places of one name, it returns the largest. A
	// qualifier after a comma, such as "Springfield, IL", selects another one. Resolve takes
	// microseconds.
	Resolve(text string) (Place, bool)
	// Correct finds the place that a misspelt name may mean.
	Correct(text string) (Place, bool)
}

// Label returns the name of the place for display, with what distinguishes it from others of the
// same name: the region of a town, or the country.
func (p *Place) Label() string {
	within := CountryName(p.Country)
	if p.Kind == Town && p.Region != "" {
		within = p.Region
	}

	if within == p.Name || p.Kind == Country { // London, London says nothing more
		return p.Name
	}

	return p.Name + ", " + within
}

// CountryName returns the name of the country with the ISO code, or the code if it is none of the countries of the
// vocabulary's jobs.
func CountryName(code string) string {
	switch code {
	case "GB":
		return "United Kingdom"
	case "IE":
		return "Ireland"
	case "US":
		return "United States"
	}

	return code
}
