package bootstrap

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed seed.txt
var corpusFile string

// corpus is the parsed form of seed.txt. A line of the file is a keyword and fields
// separated by " | "; lists within a field are separated by "; ". Lines that begin
// with # are comments.
type corpus struct {
	markets     map[string]*market
	employers   []employerKind
	names       []string
	occupations []*occupation
}

// market is the data of employers in one country.
type market struct {
	code, currency string
	spelling       *strings.Replacer
	benefits       []string
	towns          []town
	boilerplate    []string
	openings       []string
	closings       []string
	shifts         map[string][]shift
	specialties    map[string][]string
	families       map[string]*family
	posts          map[string][]*post // by setting; one of weight 2 is in it twice
}

type town struct{ name, code string }

type shift struct{ label, sentence string }

// employerKind is a pattern for employers. {name} and {town} are replaced by an invented
// name and the town.
type employerKind struct {
	country, setting string
	weight           int
	name, site       string
}

// family is the shared data of the occupations of a profession. cover is how employers
// fill temporary posts: bank, locum, or permanent for none.
type family struct {
	label, cover, register string
	requirements, duties   []string
}

// occupation is a concept of the search vocabulary that employers advertise.
type occupation struct {
	concept, family, shifts, specialties string
	isRemote, isFixedTerm                bool
	weight                               int
	settings                             []string
}

// post is an occupation in one country with its titles and the yearly pay.
type post struct {
	*occupation
	titles    []string
	grade     string
	low, high float64
}

// americanSpelling are the pairs of the lines "american".
func americanSpelling() *strings.Replacer {
	var pairs []string
	for line := range strings.Lines(corpusFile) {
		if rest, ok := strings.CutPrefix(line, "american "); ok {
			for pair := range strings.SplitSeq(strings.TrimSpace(rest), "; ") {
				from, to, _ := strings.Cut(pair, "=")
				pairs = append(pairs, from, to)
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

func loadCorpus() *corpus {
	c := &corpus{markets: map[string]*market{}}
	bands := map[string]string{}
	current := "" // family
	for line := range strings.Lines(corpusFile) {
		keyword, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		fields := strings.Split(rest, " | ")
		head := strings.Fields(fields[0])
		switch keyword {
		case "", "#", "american":
		case "country":
			c.addMarket(head[0], head[1], fields[1:])
		case "band":
			bands[head[0]] = head[1]
		case "employer":
			weight, _ := strconv.Atoi(head[2])
			c.employers = append(c.employers, employerKind{country: head[0], setting: head[1], weight: weight, name: fields[1], site: fields[2]})
		case "name":
			c.names = append(c.names, fields...)
		case "place":
			for _, f := range fields[1:] {
				name, code, _ := strings.Cut(f, " = ")
				m := c.markets[fields[0]]
				m.towns = append(m.towns, town{name, code})
			}
		case "boilerplate":
			c.markets[fields[0]].boilerplate = fields[1:]
		case "role":
			c.occupations = append(c.occupations, newOccupation(head))
		case "GB", "IE", "US":
			c.markets[keyword].addPost(c.occupations[len(c.occupations)-1], rest, bands)
		case "register":
			c.markets[head[0]].families[current].register = strings.TrimPrefix(rest, head[0]+" ")
		default:
			if keyword == "family" {
				current = fields[0]
			}
			for _, m := range c.markets {
				m.addShared(keyword, current, strings.Split(m.spelling.Replace(rest), " | "))
			}
		}
	}
	return c
}

func (c *corpus) addMarket(code, currency string, benefits []string) {
	m := &market{
		code: code, currency: currency, benefits: benefits, spelling: strings.NewReplacer(),
		shifts: map[string][]shift{}, specialties: map[string][]string{}, families: map[string]*family{}, posts: map[string][]*post{},
	}
	if code == "US" {
		m.spelling = americanSpelling()
	}
	c.markets[code] = m
}

// addShared adds a line that all countries share, in the spelling of the country. A
// later line "specialties <name> <country>" replaces the list for that country.
func (m *market) addShared(keyword, current string, fields []string) {
	switch keyword {
	case "opening":
		m.openings = append(m.openings, fields[0])
	case "closing":
		m.closings = append(m.closings, fields[0])
	case "shift":
		m.shifts[fields[0]] = append(m.shifts[fields[0]], shift{fields[1], fields[2]})
	case "specialties":
		if name, country, _ := strings.Cut(fields[0], " "); country == "" || country == m.code {
			m.specialties[name] = fields[1:]
		}
	case "family":
		m.families[fields[0]] = &family{label: fields[1], cover: fields[2]}
	case "require":
		m.families[current].requirements = strings.Split(fields[0], "; ")
	case "do":
		m.families[current].duties = strings.Split(fields[0], "; ")
	}
}

// newOccupation reads a concept, a weight, a family, a shift pattern, flags, settings and
// the name of the specialties.
func newOccupation(f []string) *occupation {
	last := len(f) - 1
	r := &occupation{concept: f[0], family: f[2], shifts: f[3], specialties: f[last], settings: strings.Split(f[last-1], ",")}
	r.weight, _ = strconv.Atoi(f[1])
	for _, flag := range f[4 : last-1] {
		r.isRemote = r.isRemote || flag == "remote"
		r.isFixedTerm = r.isFixedTerm || flag == "fixed"
	}
	return r
}

// addPost reads "Title; Title: grade low-high"; the pay of a band is known.
func (m *market) addPost(r *occupation, text string, bands map[string]string) {
	titles, pay, _ := strings.Cut(text, ": ")
	p := &post{occupation: r, titles: strings.Split(titles, "; ")}
	if band, ok := strings.CutPrefix(pay, "band "); ok {
		p.grade, pay = "Band "+band, bands[band]
	} else if i := strings.LastIndexByte(pay, ' '); i > 0 {
		p.grade, pay = pay[:i], pay[i+1:]
	}
	low, high, _ := strings.Cut(pay, "-")
	p.low, _ = strconv.ParseFloat(low, 64)
	p.high, _ = strconv.ParseFloat(high, 64)
	for _, setting := range r.settings {
		for range r.weight {
			m.posts[setting] = append(m.posts[setting], p)
		}
	}
}
