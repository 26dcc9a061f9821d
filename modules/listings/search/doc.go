// Package search holds the vocabulary of healthcare jobs and what it is used
// for: Tokens divides a text into words, Vocabulary finds the names of roles,
// specialties, grades and other concepts among them, and Annotate decides what
// an advert is about.
//
// The package is pure: it imports only the standard library, has no state, and
// gives the same answer for the same input and the same vocabulary version.
package search
