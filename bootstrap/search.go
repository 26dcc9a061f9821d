package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/modules/listings/search"
)

// search returns the commands for the search index, the vocabulary and the interpretation
// of queries.
func (o *operator) search() *cobra.Command {
	group := newGroup("search", "Rebuild the search index, check the vocabulary and what it makes of a query")
	group.AddCommand(
		&cobra.Command{
			Use:   "rebuild",
			Short: "Make every server rebuild its search index; the current one stays in use until then",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return o.withStorage(cmd, func(ctx context.Context, cfg *config.Config, store *storage) error {
					if err := store.check(ctx, cfg); err != nil {
						return err
					}

					if err := store.Listings.Feed.Reset(ctx); err != nil {
						return faultMessage(err)
					}

					fmt.Fprintln(cmd.OutOrStdout(), "Running servers build a new search index now, others when they start.")

					return nil
				})
			},
		},
		&cobra.Command{
			Use:     "explain QUERY",
			Short:   "Show how a query is interpreted: slots, values and corrections",
			Args:    cobra.MinimumNArgs(1),
			Example: "  locum search explain 'band 5 icu nurse nights near Leeds'",
			RunE: o.withConfig(func(cmd *cobra.Command, args []string, cfg *config.Config) error {
				vocabulary, _, err := vocabularyFile(cfg.Search.Vocabulary).load()
				if err != nil {
					return cfg.Err("search.vocabulary", err.Error())
				}

				return explain(cmd, vocabulary, strings.Join(args, " "))
			}),
		},
		&cobra.Command{
			Use: "lint [FILE]", Short: "Check the vocabulary, with a file that extends it", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				file := "" // the built-in vocabulary only
				if len(args) > 0 {
					file = args[0]
				}

				vocabulary, _, err := vocabularyFile(file).load()
				if err == nil {
					fmt.Fprintf(
						cmd.OutOrStdout(),
						"vocabulary %s: %d concepts, %d forms, no problems\n",
						vocabulary.Version(),
						len(vocabulary.Concepts()),
						len(vocabulary.Forms()),
					)
				}

				return err
			},
		})

	return group
}

// emptyLexicon is the lexicon (the words of all listings, from which misspelled words are corrected)
// of an empty search index. With it, only words of the vocabulary are corrected.
type emptyLexicon struct{}

// Frequency returns the number of listings with the word.
func (emptyLexicon) Frequency(string) int { return 0 }

// Words returns the words with the prefix, with their frequencies.
func (emptyLexicon) Words(string) iter.Seq2[string, int] { return func(func(string, int) bool) {} }

// explain prints how a query is interpreted: the slot of each term (the kind of its meaning, such as
// the role or the place), its values, and the text of the query that it comes from.
func explain(cmd *cobra.Command, vocabulary *search.Vocabulary, query string) error {
	spelling := search.NewSpelling(vocabulary, emptyLexicon{})
	parser := search.Parser{Vocabulary: vocabulary, Places: gazetteer.New(), Words: spelling}

	parsed := parser.Parse(query)
	if parsed.Empty {
		return errors.New("the query has no words")
	}

	rows := newTable(cmd.OutOrStdout(), "SLOT", "VALUE", "TEXT")
	for _, term := range parsed.Terms {
		slot := term.Slot
		if term.Excluded {
			slot = "not " + slot
		}

		rows.add(slot, strings.Join(term.Values(), " or "), query[term.Start:term.End])
	}

	for _, correction := range parsed.Corrections {
		rows.add("correction", correction.To, correction.From)
	}

	return rows.Flush()
}
