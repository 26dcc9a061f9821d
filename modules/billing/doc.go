// Package billing owns what accounts subscribe to: plans, subscriptions, payment
// methods and the history of charges. Everybody is on the basic plan, which
// costs nothing and never ends, until they choose another.
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
// Cancelling keeps what is paid for: the plan stays active until its period ends.
// An application that turns to the free plan has the free limits at once, and its
// paid plan again for nothing until then. What is left of a period goes towards
// the next plan: one that costs more costs that less, and one that costs less goes
// on for the longer.
// A subscription that is past due and cancelled ends at once.
//
// Money moves in three steps, so that a crash between any two of them neither
// loses a payment nor takes one twice:
//
//  1. a charge is written down as pending: at most one an owner, and one a period
//     that is not declined;
//  2. the provider is asked, with the id of the charge as idempotency key;
//  3. the answer is written down with what follows from it.
//
// Whoever comes across a pending charge (its own request, one that was sent
// twice, the work that is done each minute) goes on with step 2, which has one
// outcome however often it is asked for.
//
// Events out: subscription.changed. Events in: user.deleted, after which
// charges are kept, as the law wants, and belong to nobody.
package billing
