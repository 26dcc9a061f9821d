package auth

// Vault hides secrets that have to be read again, so that whoever gets hold of
// what is stored has nothing.
type Vault interface {
	// Hide makes text of the secret that only this service can read, and only as
	// belonging to the owner, an id.
	Hide(secret, owner string) (string, error)
	// Reveal is the secret again. What was hidden for another owner, or with a key
	// that is gone, is an error that says nothing of it.
	Reveal(hidden, owner string) (string, error)
}
