package search

// maxCompared is the length of the longest word that EditDistance compares. It makes the size of its table constant, so
// that the table needs no allocation.
const maxCompared = 64

// EditDistance returns how many edits turn one word into the other, or limit+1 if it takes more than limit. An edit
// inserts, deletes or replaces a letter, or exchanges two neighbours; no letter is edited twice (optimal string
// alignment distance). The result is limit+1, too, if the second word has more than 64 letters.
func EditDistance[T byte | rune](a, b []T, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(b) > maxCompared {
		return limit + 1
	}

	// Entry j of the row for i letters is the distance of the first i letters of a to the first j letters of b.
	// Only three rows are needed at a time: the current one and the two before it.
	var rows [3][maxCompared + 1]int
	secondLast := &rows[0]
	last := &rows[1]
	current := &rows[2]

	for j := range len(b) + 1 {
		last[j] = j // insertions
	}

	for i := 1; i <= len(a); i++ {
		current[0] = i // deletions

		least := i // of the current row
		for j := 1; j <= len(b); j++ {
			replacement := 1
			if a[i-1] == b[j-1] {
				replacement = 0
			}

			distance := min(
				last[j]+1,             // delete a letter of a
				current[j-1]+1,        // insert a letter of b
				last[j-1]+replacement, // keep the letter or replace it
			)

			areExchanged := i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1]
			if areExchanged {
				distance = min(distance, secondLast[j-2]+1)
			}

			current[j] = distance
			least = min(least, distance)
		}

		// The distances of later rows are not below the least one of this row. So the result exceeds the limit, too.
		if least > limit {
			return limit + 1
		}

		secondLast, last, current = last, current, secondLast
	}

	return last[len(b)]
}
