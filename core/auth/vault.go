package auth

// Vault encrypts secrets that the service must read again and therefore cannot hash.
type Vault interface {
	// Encrypt returns the ciphertext of a secret. Only the same owner, an id, can decrypt
	// it.
	Encrypt(secret, owner string) (string, error)
	// Decrypt returns the secret. It returns an error without details if the ciphertext
	// belongs to another owner or was encrypted with a key that is no longer configured.
	Decrypt(ciphertext, owner string) (string, error)
}
