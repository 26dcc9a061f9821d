// Package billing owns what people and organizations subscribe to: plans,
// subscriptions, payment methods and the history of payments. Every account is
// on the basic plan until it chooses another.
package billing
