// Package identity owns people, their sessions and the organizations that
// they work for.
package identity
