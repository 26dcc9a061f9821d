package bootstrap

import (
	_ "embed"
	"encoding/json"
	"maps"
	"strings"
)

//go:embed seed.json
var corpusFile string

// corpus is the raw material of the demo data, read from seed.json: what invented employers in the
// United Kingdom, Ireland and the United States advertise.
type corpus struct {
	// American has words in British English, each before the American one.
	American []string
	// Bands are the lowest and the highest yearly pay of grades.
	Bands     map[string][2]float64
	Sizes     []string // of organizations
	Questions []string // that listings ask applicants
	// Answers are the answers of demo accounts to the questions.
	Answers               map[string]string
	FirstNames, LastNames []string
	// Names are those of employers. The first employer has the demo accounts.
	Names       []string
	Employers   []employerKind
	Markets     map[string]*market // by country
	Occupations []*occupation      `json:"roles"`
}

// market is the data of employers in one country. loadCorpus sets the texts, the code and the posts.
type market struct {
	texts       `json:"-"`
	Currency    string
	Benefits    []string
	Towns       []town
	Boilerplate []string // sentences about employers, for the end of a description
	// LocalSpecialties replace those of the texts that have the same key.
	LocalSpecialties map[string][]string `json:"specialties"`

	code  string             // of the country, such as GB
	posts map[string][]*post // by kind of workplace; a post of weight 2 is in it twice, for random choices
}

// texts are shared by all countries, in the spelling of each. The keys of the maps are names that
// occupations refer to.
type texts struct {
	Openings, Closings []string // sentences for the beginning and the end of a description
	Shifts             map[string][]shift
	Specialties        map[string][]string
	Families           map[string]*family
}

// town is a place of a market. Code is its postcode, such as LS1 3QZ; in the United States with the
// state, such as MA 02108.
type town struct{ Name, Code string }

// shift is a working pattern: Label is for lists, Sentence for the text of a listing.
type shift struct{ Label, Sentence string }

// employerKind is a pattern for employers. In its texts, {name} and {town} are replaced by an invented
// name and the town.
type employerKind struct {
	Country    string
	Setting    string // kind of workplace, such as hospital
	Weight     int    // how often its listings are advertised, in relation to others
	Name, Site string // of the organization, and of its workplace
}

// family is the shared data of the occupations of a profession, such as nursing.
type family struct {
	Label string
	// Cover is how employers fill a gap for a short time: "bank" (with their own pool of staff),
	// "locum" (with a substitute), or "permanent" if they do not.
	Cover                string
	Registers            map[string]string // the required entry in a professional register, by country
	Requirements, Duties []string
}

// occupation is a concept of the search vocabulary that employers advertise. Family, Shifts and
// Specialties are keys of the maps of texts.
type occupation struct {
	Concept, Family, Shifts, Specialties string
	IsRemote                             bool     `json:"remote"`
	IsFixedTerm                          bool     `json:"fixedTerm"` // a training post, which ends with the training
	Weight                               int      // how often it is advertised, in relation to others
	Settings                             []string // the kinds of workplaces that have it
	Posts                                []*post
}

// post is an occupation in one country, with its titles. Low and High are the limits of its
// yearly pay. For a grade of corpus.Bands, loadCorpus sets them.
type post struct {
	*occupation `json:"-"`
	Country     string
	Titles      []string
	Grade       string
	Low, High   float64
}

// loadCorpus reads the corpus once for the shared data, and once more for the texts of each market:
// those of the American market have American words and spellings.
func loadCorpus() *corpus {
	c := &corpus{}
	decode(corpusFile, c)

	american := strings.NewReplacer(c.American...).Replace(corpusFile)
	for code, m := range c.Markets {
		m.code, m.posts = code, map[string][]*post{}

		file := corpusFile
		if code == "US" {
			file = american
		}

		var textsOnly struct{ Texts texts }
		decode(file, &textsOnly)

		m.texts = textsOnly.Texts
		maps.Copy(m.Specialties, m.LocalSpecialties)
	}

	for _, occupation := range c.Occupations {
		for _, post := range occupation.Posts {
			post.occupation = occupation
			if pay, hasBand := c.Bands[post.Grade]; hasBand {
				post.Low, post.High = pay[0], pay[1]
			}

			m := c.Markets[post.Country]
			for _, setting := range occupation.Settings {
				for range occupation.Weight {
					m.posts[setting] = append(m.posts[setting], post)
				}
			}
		}
	}

	return c
}

// decode parses the corpus. It panics if the file is invalid, because it is a part of the program.
func decode(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		panic(err)
	}
}
