package search

// Fold converts a text to the form in which it is compared: lower case, without
// diacritics, æ as ae and ß as ss.
func Fold(text string) string { return foldWord(text) }
