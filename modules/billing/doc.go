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
// A cancelled plan remains active until the paid period ends. An application that changes to the
// free plan has the free limits at once. Until the paid period ends, it can return to its paid plan
// without a payment. The rest of a paid period is credited to the next plan: the credit reduces the
// price of a more expensive plan, and extends a cheaper plan. A subscription that is past due ends
// at once when it is cancelled.
//
// A payment has three steps, so that a crash between them neither loses a payment nor
// charges twice:
//
//  1. Store a pending charge. An owner has at most one pending charge, and a period at most
//     one charge that is not declined.
//  2. Call the provider, with the id of the charge as the idempotency key.
//  3. Store the result together with its consequences.
//
// After a crash, Renew or the next request continues a pending charge with step 2. The
// provider returns the same result for the same key.
//
// In step 2, the provider may require that the payer confirms the payment, for example with
// 3-D Secure. The charge remains pending; if it is a renewal, the subscription becomes past
// due. When a webhook of the provider, the payer or Renew reports that the payer has
// confirmed, step 2 is repeated. The payment is abandoned after 24 hours, or when the payer
// chooses another plan or method.
//
// Events published: subscription.changed. Events consumed: user.deleted and app.deleted, which
// delete the subscription and make the charges of the owner anonymous.
package billing
