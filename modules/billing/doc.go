// Package billing owns plans, subscriptions, payment methods and charges. The default
// is the basic plan, which costs nothing and does not end.
//
//	          paid                        cancel
//	basic ─────────▶ active, renews ────────────────▶ active, ends
//	  ▲                │   ▲     ▲ │  ◀──────────────    │
//	  │       declined │   │ paid└─┘ each month resume    │
//	  │                ▼   │ paid                         │
//	  │             past due: tried again                 │
//	  │              after 1, 3 and 7 days                │
//	  └── still declined ──┘                              │
//	  ◀──────────────── the paid period is over ──────────┘
//
// A cancelled plan remains active until the paid period ends. An application that
// changes to the free plan has the free limits at once, and can return to its paid
// plan without a payment until then. The rest of a period is credited to the next
// plan: it reduces the price of a more expensive one, and extends a cheaper one. A
// subscription that is past due ends at once when it is cancelled.
//
// A payment has three steps, so that a crash between them neither loses a payment nor
// charges twice:
//
//  1. a pending charge is stored: at most one for an owner, and one for a period that
//     is not declined;
//  2. the provider is called, with the id of the charge as idempotency key;
//  3. the result is stored together with its consequences.
//
// Requests and Renew continue pending charges with step 2, whose result for a key does
// not change.
//
// In step 2 the provider may ask the payer to confirm the payment, with 3-D Secure for
// example. The charge remains pending, and a renewal makes the subscription past due.
// Whatever reports the end of the confirmation (a webhook of the provider, the payer,
// or Renew) only repeats step 2. After 24 hours, and if the payer chooses something
// else, the payment is abandoned.
//
// Events published: subscription.changed. Events consumed: user.deleted and
// app.deleted, after which charges are retained without an owner.
package billing
