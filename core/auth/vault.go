package auth

// Vault encrypts secrets that have to be read again, so that a leak of the stored data
// does not disclose them.
type Vault interface {
	// Encrypt encrypts the secret for an owner, an id.
	Encrypt(secret, owner string) (string, error)
	// Decrypt returns the secret. It returns an error without details for a ciphertext of
	// another owner or of a key that has been removed.
	Decrypt(ciphertext, owner string) (string, error)
}
