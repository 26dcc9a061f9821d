package gormdb

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// One account can make up a million words in an hour, and every process keeps
// them all.
func TestTheVocabularyHasAnEnd(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	v := newVocabulary(db)
	v.most = 5
	for n := range 3 {
		words := map[string]struct{}{}
		for i := range 4 {
			words[fmt.Sprintf("made%dup%d", n, i)] = struct{}{}
		}
		require.NoError(t, v.add(t.Context(), words))
	}
	require.NoError(t, v.refresh(t.Context(), true))
	require.Len(t, v.words, 5)
	require.Len(t, v.known, 5)
	var kept int
	require.NoError(t, db.gorm.Raw("SELECT count(*) FROM search_words").Scan(&kept).Error)
	require.Equal(t, 5, kept)
}

// Each word that nobody knows is compared with all that are known.
func TestATextOfNothingButTyposCostsAsMuchAsOneOfSome(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := search{Searches: Searches{DB: db, words: newVocabulary(db), facts: newFacts()}, q: listings.Query{Now: time.Now().UTC(), Page: page.Request{Number: 1, Size: 1}}}
	require.NoError(t, s.words.add(t.Context(), map[string]struct{}{"midwife": {}}))
	require.NoError(t, s.words.refresh(t.Context(), true))
	for i := range 2 * maxCorrected {
		got := s.forms("midwive", true, false)
		if i < maxCorrected {
			require.Len(t, got, 2, "%d", i)
		} else {
			require.Len(t, got, 1, "%d", i)
		}
	}
}
