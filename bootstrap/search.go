package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// search are the commands for the vocabulary of search and its understanding of
// queries. They read no database.
func (o *operator) search() *cobra.Command {
	group := groupOf("search", "Check the vocabulary of search and what it makes of a query")
	group.AddCommand(
		&cobra.Command{
			Use: "explain QUERY", Short: "Show what a query asks for: its slots, their values and corrections", Args: cobra.MinimumNArgs(1),
			Example: "  locum search explain 'band 5 icu nurse nights near Leeds'",
			RunE: func(cmd *cobra.Command, args []string) error {
				v, err := search.Load()
				if err != nil {
					return err
				}
				return explain(cmd, v, strings.Join(args, " "))
			},
		},
		&cobra.Command{
			Use: "lint [FILE]", Short: "Check the vocabulary, together with a file that extends it", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				v, err := lintVocabulary(args)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "vocabulary %s: %d concepts, %d forms, no problems\n", v.Version(), len(v.Concepts()), len(v.Forms()))
				}
				return err
			},
		})
	return group
}

func lintVocabulary(files []string) (*search.Vocabulary, error) {
	var additions []search.Source
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		additions = append(additions, search.Source{Name: name, Text: string(text)})
	}
	return search.Load(additions...)
}

// noAdverts is the lexicon of an empty index.
type noAdverts struct{}

func (noAdverts) Frequency(string) int { return 0 }

// explain prints what a query asks for.
func explain(cmd *cobra.Command, v *search.Vocabulary, query string) error {
	p := search.Parser{Vocabulary: v, Places: gazetteer.New(), Words: search.NewSpelling(v, noAdverts{})}
	u := p.Parse(query)
	if u.Empty {
		return errors.New("the query has no words")
	}
	out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "SLOT\tVALUE\tTEXT")
	for _, t := range u.Terms {
		slot := t.Slot
		if t.Excluded {
			slot = "not " + slot
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", slot, strings.Join(valuesOf(t), " or "), query[t.Start:t.End])
	}
	for _, c := range u.Corrections {
		fmt.Fprintf(out, "correction\t%s\t%s\n", c.To, c.From)
	}
	return out.Flush()
}

// valuesOf returns what a term asks for, in words.
func valuesOf(t search.Term) (values []string) {
	for _, c := range t.Concepts {
		values = append(values, c.Label)
	}
	for _, p := range t.Places {
		region := cmp.Or(p.Region, listings.CountryName(p.Country))
		if p.Kind != search.Town || region == p.Name {
			region = listings.CountryName(p.Country)
		}
		values = append(values, p.Name+", "+region)
	}
	if t.Pay != nil {
		values = append(values, payText(*t.Pay))
	}
	if len(values) == 0 {
		values = append(values, strings.Join(t.Words, " "))
		for _, words := range t.Or {
			values = append(values, strings.Join(words, " "))
		}
	}
	return values
}

func payText(p search.PayRange) string {
	const minor = 100
	text := fmt.Sprintf("at least %d", p.Min/minor)
	switch {
	case p.Max > 0 && p.Min > 0:
		text = fmt.Sprintf("%d to %d", p.Min/minor, p.Max/minor)
	case p.Max > 0:
		text = fmt.Sprintf("at most %d", p.Max/minor)
	}
	return strings.TrimSpace(text+" "+p.Currency) + " a year"
}
