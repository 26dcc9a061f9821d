// Package search contains the vocabulary of healthcare jobs and the analysis of
// adverts and queries.
//
// A Vocabulary consists of concepts, such as roles, specialties and grades. Each
// concept has names, which are called forms, and links to other concepts. Tokens
// divides a text into words, Vocabulary.Matches finds the forms among them, and
// Vocabulary.Annotate returns the concepts of an advert. The results depend only on
// the input and the version of the vocabulary.
//
// Parser reads a query. Its Understanding is a list of terms, the conditions of the
// query, which becomes a Plan for an Index of adverts. The corrections and employers
// in a query depend on the words and names in the index. Parser.Resolve returns a
// text that contains them, and that is read in the same way without an index.
//
// The package imports only the standard library.
package search
