// Package list has helpers for slices that package slices lacks.
package list

// First returns the first of the items that a query returned together with err. It returns
// err if the query failed, and notFound if there are no items.
func First[T any](items []T, err, notFound error) (first T, _ error) {
	if err != nil {
		return first, err
	}

	if len(items) == 0 {
		return first, notFound
	}

	return items[0], nil
}

// Map returns the results of fn for the items, in their order.
func Map[T, U any](items []T, fn func(T) U) []U {
	results := make([]U, len(items))
	for i, item := range items {
		results[i] = fn(item)
	}

	return results
}

// Distinct returns the different results of fn for the items, in the order of their
// first occurrences.
func Distinct[T any, U comparable](items []T, fn func(T) U) []U {
	isSeen := make(map[U]bool, len(items))

	var distinct []U
	for _, item := range items {
		if result := fn(item); !isSeen[result] {
			isSeen[result] = true
			distinct = append(distinct, result)
		}
	}

	return distinct
}

// ToMap returns a map with the keys and values that fn returns for the items.
func ToMap[T any, K comparable, V any](items []T, fn func(T) (K, V)) map[K]V {
	values := make(map[K]V, len(items))
	for _, item := range items {
		key, value := fn(item)
		values[key] = value
	}

	return values
}
