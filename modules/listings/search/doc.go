// Package search contains the vocabulary of healthcare jobs and the analysis of
// adverts and queries: Tokens divides a text into words, Vocabulary finds the names
// of roles, specialties, grades and other concepts among them, and Annotate returns
// the concepts of an advert.
//
// The results depend only on the input and the version of the vocabulary.
//
// A query is read by Parser, whose Understanding becomes a Plan of conditions for an
// Index. Corrections, completions and employers depend on the words and names in the
// index; Parser.Resolve returns a text that is read the same without it.
//
// The package imports only the standard library.
package search
