package search

// maxCompared is the length of the longest word that EditDistance compares.
const maxCompared = 64

// EditDistance returns the optimal string alignment distance of two words, which counts
// insertions, deletions, substitutions and transpositions of neighbours, or limit+1 if it
// is greater than limit. Words of more than 64 letters are not compared.
func EditDistance[T byte | rune](a, b []T, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(b) > maxCompared {
		return limit + 1
	}

	var rows [3][maxCompared + 1]int
	before := &rows[0]
	last := &rows[1]
	row := &rows[2]

	for j := range len(b) + 1 {
		last[j] = j
	}

	for i := 1; i <= len(a); i++ {
		row[0] = i

		least := i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}

			d := min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}

			row[j] = d
			least = min(least, d)
		}

		if least > limit {
			return limit + 1
		}

		before, last, row = last, row, before
	}

	return last[len(b)]
}
