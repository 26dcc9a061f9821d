package identity

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// The standing of an organization is whether it is verified, held or suspended. The identity of a
// verified organization was confirmed by a moderator or by the domain of its website. The jobs of a
// held or suspended organization are not public. A held organization awaits the decision of a
// moderator. A suspended organization was refused by a moderator.

// The kinds of Organization.VerifiedBy.
const (
	VerifiedByModerator = "moderator"
	VerifiedByDomain    = "domain"
	// VerificationRemoved is the kind of an organization that is not verified because a
	// moderator has removed its verification or suspended it. Only a moderator verifies it
	// again.
	VerificationRemoved = "removed"
)

// IsVerified reports whether the identity of the organization is verified.
func (o *Organization) IsVerified() bool { return !o.VerifiedAt.IsZero() }

// HoldsJobs reports whether no job of the organization is public, because the organization is held
// or suspended.
func (o *Organization) HoldsJobs() bool { return !o.HeldAt.IsZero() || !o.SuspendedAt.IsZero() }

// VerifiedDomain returns the domain by which the organization is verified, or an empty string.
func (o *Organization) VerifiedDomain() string {
	if !o.IsVerified() || o.VerifiedBy != VerifiedByDomain {
		return ""
	}

	return domainOf(o.Website)
}

// unverify undoes a verification. The organization can be verified again by its domain.
func (o *Organization) unverify() { o.VerifiedAt, o.VerifiedBy = time.Time{}, "" }

// removeVerification undoes a verification until a moderator verifies the organization.
func (o *Organization) removeVerification() {
	o.VerifiedAt, o.VerifiedBy = time.Time{}, VerificationRemoved
}

// VerifiedNames stores the names of verified organizations, to find organizations with similar names.
// A name is stored as its keys (text.NameKeys). Similar names have a key in common.
type VerifiedNames interface {
	// Replace replaces the keys of an organization. Without keys, the organization is not found
	// any more.
	Replace(ctx context.Context, organizationID string, keys []string) error
	// Find returns at most n organizations, without duplicates, that have one of the keys.
	Find(ctx context.Context, keys []string, n int) (organizationIDs []string, err error)
}

// storeVerifiedName stores the name of a verified organization, or removes the name of one that is not
// verified any more. New names of other organizations are compared with the stored ones.
func (s *Service) storeVerifiedName(ctx context.Context, o *Organization) error {
	var keys []string
	if o.IsVerified() {
		keys = text.NameKeys(o.Name)
	}

	return s.VerifiedNames.Replace(ctx, o.ID, keys)
}

// resemblesVerified reports whether the name equals or resembles the name of another
// organization that is verified.
func (s *Service) resemblesVerified(ctx context.Context, organizationID, name string) (bool, error) {
	const maxFound = 2 // two, because one of them may be the organization itself

	similarIDs, err := s.VerifiedNames.Find(ctx, text.NameKeys(name), maxFound)

	return slices.ContainsFunc(similarIDs, func(id string) bool { return id != organizationID }), err
}

// holdIfSuspicious holds the jobs of an organization whose new name resembles the name of a
// verified organization: it may pretend to be that organization. The caller stores the
// organization.
func (s *Service) holdIfSuspicious(ctx context.Context, organization *Organization, now time.Time) error {
	resembles, err := s.resemblesVerified(ctx, organization.ID, organization.Name)
	if err != nil {
		return err
	}

	if resembles && organization.HeldAt.IsZero() {
		organization.HeldAt = now
	}

	return nil
}

// reviewChange changes the standing of an organization because of its new name or website, before the
// organization is stored. A new name ends a verification. A new website ends a verification by
// domain. If the new name resembles the name of a verified organization, the jobs are held.
func (s *Service) reviewChange(ctx context.Context, organization *Organization, before Organization, now time.Time) error {
	// Names with the same keys differ in case or punctuation only.
	hasSameKeys := slices.Equal(text.NameKeys(organization.Name), text.NameKeys(before.Name))
	isRenamed := organization.Name != before.Name && !hasSameKeys

	if isRenamed {
		if err := s.holdIfSuspicious(ctx, organization, now); err != nil {
			return err
		}
	}

	hasLostDomain := organization.VerifiedBy == VerifiedByDomain && domainOf(organization.Website) != domainOf(before.Website)
	if organization.IsVerified() && (isRenamed || hasLostDomain) {
		organization.unverify()

		if err := s.storeVerifiedName(ctx, organization); err != nil {
			return err
		}
	}

	isNewlyHeld := !organization.HeldAt.Equal(before.HeldAt)
	if !isNewlyHeld {
		return nil
	}

	entry := audit.Entry{Action: audit.OrganizationHeld, OrganizationID: organization.ID, Object: organization.ID}
	if err := s.Audit.Record(ctx, entry); err != nil {
		return err
	}

	return s.Events.Record(ctx, event.OrganizationModerated{
		OrganizationID: organization.ID,
		Action:         string(holdOrganization),
		ModeratedAt:    now,
	})
}

// domainOf returns the domain of a URL without www, in lower case. It returns "" for an invalid URL
// and for an empty one.
func domainOf(website string) string {
	u, err := url.Parse(website)
	if err != nil {
		return ""
	}

	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}

// mailboxProviders are domains at which everyone can get an e-mail address. An address there does not
// prove that its owner works for the owner of the domain. The second group are providers of addresses
// that exist for a short time only.
var mailboxProviders = strings.Fields(`
	gmail.com googlemail.com yahoo.com yahoo.co.uk ymail.com hotmail.com hotmail.co.uk outlook.com live.com live.co.uk
	msn.com aol.com icloud.com me.com mac.com proton.me protonmail.com pm.me gmx.com gmx.net gmx.de web.de mail.com
	zoho.com yandex.com yandex.ru mail.ru fastmail.com hey.com tutanota.com tuta.io btinternet.com sky.com virginmedia.com
	talktalk.net ntlworld.com comcast.net verizon.net att.net eircom.net qq.com 163.com

	yopmail.com mailinator.com guerrillamail.com 10minutemail.com trashmail.com sharklasers.com temp-mail.org getnada.com
	dispostable.com maildrop.cc fakeinbox.com throwawaymail.com mailnesia.com mintemail.com moakt.com tempmail.dev
	emailondeck.com mohmal.com
`)

// isMailboxProvider reports whether everyone can get an e-mail address at the domain or at a
// domain above it.
func isMailboxProvider(domain string) bool {
	return slices.ContainsFunc(mailboxProviders, func(provider string) bool {
		return domain == provider || strings.HasSuffix(domain, "."+provider)
	})
}

// hasEmailAtDomainOf reports whether the user has a confirmed e-mail address at the domain of
// the website.
func (u *User) hasEmailAtDomainOf(website string) bool {
	isConfirmed := !u.EmailVerifiedAt.IsZero()
	_, domain, _ := strings.Cut(LowerCaseKey(u.Email), "@")

	return isConfirmed && domain != "" && domain == domainOf(website) && !isMailboxProvider(domain)
}

// verifyByDomain verifies the organization if the user, an admin, has a confirmed address at
// the domain of its website. It does nothing while the organization is held or suspended, or
// after a moderator has removed its verification, because a moderator has to decide then.
// The caller stores the organization if isVerified is true, which means that it was verified now.
func (s *Service) verifyByDomain(
	ctx context.Context,
	organization *Organization,
	user *User,
	now time.Time,
) (isVerified bool, err error) {
	needsModerator := organization.HoldsJobs() || organization.VerifiedBy == VerificationRemoved
	if organization.IsVerified() || needsModerator || !user.hasEmailAtDomainOf(organization.Website) {
		return false, nil
	}

	organization.VerifiedAt = now
	organization.VerifiedBy = VerifiedByDomain
	organization.UpdatedAt = now

	if err := s.storeVerifiedName(ctx, organization); err != nil {
		return false, err
	}

	return true, s.Audit.Record(ctx, audit.Entry{
		Action:         audit.OrganizationVerified,
		Actor:          user.ID,
		OrganizationID: organization.ID,
		Object:         organization.ID,
		Detail:         VerifiedByDomain,
	})
}

// verifyOrganizationOf verifies the organization of a user who has just confirmed an e-mail address, if
// the user is an admin and the address is at the domain of the organization's website. It stores the
// organization.
func (s *Service) verifyOrganizationOf(ctx context.Context, user *User, now time.Time) error {
	membership, err := s.Members.GetByUser(ctx, user.ID)
	if err != nil || membership == nil || membership.Role != Admin {
		return err
	}

	organization, err := s.Organizations.GetForUpdate(ctx, membership.OrganizationID)
	if err != nil {
		return err
	}

	isVerified, err := s.verifyByDomain(ctx, &organization, user, now)
	if err != nil || !isVerified {
		return err
	}

	return s.Organizations.Upsert(ctx, &organization)
}

// OrganizationAction is an action of a moderator on an organization.
type OrganizationAction string

// The actions.
const (
	// VerifyOrganization also makes held jobs public.
	VerifyOrganization   OrganizationAction = "verify"
	UnverifyOrganization OrganizationAction = "unverify"
	// ReleaseOrganization makes held jobs public.
	ReleaseOrganization OrganizationAction = "release"
	// SuspendOrganization hides all current and new jobs.
	SuspendOrganization OrganizationAction = "suspend"
	RestoreOrganization OrganizationAction = "restore"

	// holdOrganization is taken by the service, not by moderators (see holdIfSuspicious).
	holdOrganization OrganizationAction = "hold"
)

// auditActions contains the action in the audit log for each action of a moderator.
var auditActions = map[OrganizationAction]audit.Action{
	VerifyOrganization:   audit.OrganizationVerified,
	UnverifyOrganization: audit.OrganizationUnverified,
	ReleaseOrganization:  audit.OrganizationReleased,
	SuspendOrganization:  audit.OrganizationSuspended,
	RestoreOrganization:  audit.OrganizationRestored,
}

// OrganizationActionInput is a moderator's action.
type OrganizationActionInput struct {
	Action string `json:"action" validate:"required,oneof=verify unverify release suspend restore" sample:"verify"`
	// Message is for the admins of the organization.
	Message string `json:"message" validate:"max=2000"`
}

// apply changes the standing of the organization.
func (a OrganizationAction) apply(organization *Organization, now time.Time) {
	switch a {
	case VerifyOrganization:
		organization.VerifiedAt = now
		organization.VerifiedBy = VerifiedByModerator
		organization.HeldAt = time.Time{}
	case UnverifyOrganization:
		organization.removeVerification()
	case ReleaseOrganization:
		organization.HeldAt = time.Time{}
	case SuspendOrganization:
		organization.removeVerification()

		organization.SuspendedAt = now
	case RestoreOrganization:
		organization.SuspendedAt = time.Time{}
	}

	organization.UpdatedAt = now
}

// Moderate changes the standing of an organization. Its admins are notified. Only moderators can call
// it.
func (s *Service) Moderate(
	ctx context.Context,
	actor auth.Actor,
	organizationID string,
	in OrganizationActionInput,
) (organization Organization, err error) {
	if err := cmp.Or(actor.RequireModerator(), valid.Check("", in)); err != nil {
		return organization, err
	}

	organizationID, isID := id.Canonical(organizationID)
	if !isID {
		return organization, ErrOrganizationNotFound
	}

	now, action := s.Clock.Now(), OrganizationAction(in.Action)

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if organization, err = s.Organizations.GetForUpdate(ctx, organizationID); err != nil {
			return err
		}

		action.apply(&organization, now)

		if err := s.storeVerifiedName(ctx, &organization); err != nil {
			return err
		}

		if err := s.Organizations.Upsert(ctx, &organization); err != nil {
			return err
		}

		entry := audit.Entry{
			Action:         auditActions[action],
			Actor:          actor.UserID,
			OrganizationID: organization.ID,
			Object:         organization.ID,
		}
		if err := s.Audit.Record(ctx, entry); err != nil {
			return err
		}

		return s.Events.Record(ctx, event.OrganizationModerated{
			OrganizationID: organization.ID,
			Action:         in.Action,
			Message:        strings.TrimSpace(in.Message),
			ModeratedAt:    now,
		})
	})

	return organization, s.countOrganizationChange(err) // so that cached pages are rendered again
}

// ModeratedMember is a member of an organization as moderators see it.
type ModeratedMember struct {
	Member
	IsSuspended bool // a moderator has suspended the account, or an operator has locked it
}

// ModeratedOrganization is an organization with its first members, as moderators see it.
type ModeratedOrganization struct {
	Organization
	Members []ModeratedMember
}

// maxShownMembers is the maximum number of members in a ModeratedOrganization.
const maxShownMembers = 100

// OrganizationFor returns an organization for a moderator.
func (s *Service) OrganizationFor(ctx context.Context, actor auth.Actor, organizationID string) (ModeratedOrganization, error) {
	if err := actor.RequireModerator(); err != nil {
		return ModeratedOrganization{}, err
	}

	organizationID, isID := id.Canonical(organizationID)
	if !isID {
		return ModeratedOrganization{}, ErrOrganizationNotFound
	}

	organization, err := s.getOrganization(ctx, organizationID)
	if err != nil {
		return ModeratedOrganization{}, err
	}

	team, err := s.Members.List(ctx, organizationID, MemberFilter{Status: MemberActive}, page.After("", maxShownMembers))
	if err != nil || len(team.Items) == 0 {
		return ModeratedOrganization{Organization: organization}, err
	}

	users, err := s.Users.GetByIDs(ctx, list.Map(team.Items, func(m Member) string { return m.UserID }))
	if err != nil {
		return ModeratedOrganization{}, err
	}

	isLocked := list.ToMap(users, func(user User) (string, bool) { return user.ID, !user.LockedAt.IsZero() })
	members := list.Map(team.Items, func(m Member) ModeratedMember {
		return ModeratedMember{Member: m, IsSuspended: isLocked[m.UserID]}
	})

	return ModeratedOrganization{Organization: organization, Members: members}, nil
}

// HoldsJobs reports whether no job of the organization is public, because the organization is held or
// suspended. A held organization awaits the decision of a moderator. A suspension is a decision
// already, so awaitsDecision is false for an organization that is both held and suspended.
func (s *Service) HoldsJobs(ctx context.Context, organizationID string) (holds, awaitsDecision bool, err error) {
	organization, err := s.getOrganization(ctx, organizationID)
	isHeld, isSuspended := !organization.HeldAt.IsZero(), !organization.SuspendedAt.IsZero()

	return isHeld || isSuspended, isHeld && !isSuspended, err
}

// suspendAccount is the action of an AccountActionInput that suspends the account.
const suspendAccount = "suspend"

// AccountActionInput is a moderator's action on an account.
type AccountActionInput struct {
	Action string `json:"action" validate:"required,oneof=suspend restore" sample:"suspend"`
	// Message is for the user.
	Message string `json:"message" validate:"max=2000"`
}

// errIsModerator is returned for an action on the account of a moderator, so that moderators cannot
// suspend each other. An operator runs the service and can lock such an account.
var errIsModerator = fault.New(fault.Conflict, "account_of_moderator",
	"The account is one of a moderator; an operator can lock it")

// errLockedByOperator is returned for the restoration of an account that an operator has
// locked.
var errLockedByOperator = fault.New(fault.Conflict, "account_locked_by_operator",
	"An operator has locked the account; only an operator can unlock it")

// requireNotLockedByOperator fails with errLockedByOperator if an operator has locked the account.
// Only the audit log shows who has locked an account. The lock of an operator is recorded at LockedAt, or
// later if a moderator had suspended the account before. So the entries since LockedAt are searched.
func (s *Service) requireNotLockedByOperator(ctx context.Context, user *User) error {
	if user.LockedAt.IsZero() {
		return nil
	}

	filter := audit.Filter{Actor: audit.Operator, About: user.ID, Action: audit.AccountLocked, From: user.LockedAt}

	locks, err := s.AuditLog.List(ctx, filter, page.After("", 1))
	if err != nil {
		return err
	}

	isLockedByOperator := len(locks.Items) > 0
	if isLockedByOperator {
		return errLockedByOperator
	}

	return nil
}

// ModerateAccount suspends an account, as LockAccount does, or restores it, unless an operator
// has locked it. The user is notified. Only moderators can call it.
func (s *Service) ModerateAccount(ctx context.Context, actor auth.Actor, userID string, in AccountActionInput) error {
	if err := cmp.Or(actor.RequireModerator(), valid.Check("", in)); err != nil {
		return err
	}

	userID, isID := id.Canonical(userID)
	if !isID {
		return ErrUserNotFound
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.Users.GetForUpdate(ctx, userID)
		switch {
		case err != nil:
			return err
		case user.Status != UserActive:
			return ErrUserNotFound
		case user.IsModerator():
			return errIsModerator
		}

		now := s.Clock.Now()

		// Change the account.
		action := audit.AccountUnlocked
		if in.Action == suspendAccount {
			action = audit.AccountLocked
			err = s.suspend(ctx, &user, now)
		} else {
			err = s.restore(ctx, &user, now)
		}

		if err != nil {
			return err
		}

		if err := s.Users.Update(ctx, &user); err != nil {
			return err
		}

		// Record the action.
		organizationID, err := s.organizationOf(ctx, user.ID)
		if err != nil {
			return err
		}

		entry := audit.Entry{Action: action, Actor: actor.UserID, OrganizationID: organizationID, Object: user.ID}
		if err := s.Audit.Record(ctx, entry); err != nil {
			return err
		}

		return s.Events.Record(ctx, event.AccountModerated{
			UserID:      user.ID,
			Action:      in.Action,
			Message:     strings.TrimSpace(in.Message),
			ModeratedAt: now,
		})
	})
}

// suspend locks the account and ends its sessions. The caller stores the account.
func (s *Service) suspend(ctx context.Context, u *User, now time.Time) error {
	u.Lock(now)

	return s.Sessions.EndByUsers(ctx, []string{u.ID}, noSession, now)
}

// restore unlocks the account, unless an operator has locked it. The caller stores the account.
func (s *Service) restore(ctx context.Context, u *User, now time.Time) error {
	if err := s.requireNotLockedByOperator(ctx, u); err != nil {
		return err
	}

	u.Unlock(now)

	return nil
}

// moderationText is the text of an e-mail about an action on an organization.
type moderationText struct {
	subject string
	body    string // with %s for the name of the organization
}

// organizationTexts contains the text about each action.
var organizationTexts = map[OrganizationAction]moderationText{
	VerifyOrganization: {
		subject: "Your organization is verified",
		body:    "Our moderators have verified %s. Its jobs are public and are not marked “not verified” any more.",
	},
	UnverifyOrganization: {
		subject: "Your organization is not verified any more",
		body:    "Our moderators have removed the verification of %s.",
	},
	ReleaseOrganization: {
		subject: "Your jobs are public",
		body:    "Our moderators have checked %s. Its jobs are public now.",
	},
	SuspendOrganization: {
		subject: "Your organization is suspended",
		body:    "Our moderators have suspended %s. Its jobs are not public, and neither are new ones.",
	},
	holdOrganization: {
		subject: "Your jobs wait for a check",
		body: "The name of %s is close to that of an organization that we have verified. Our moderators will check it. " +
			"Until then its jobs are not public.",
	},
	RestoreOrganization: {
		subject: "Your organization is not suspended any more",
		body: "Our moderators have restored %s. Its jobs are public again, except for those that moderators have taken down. " +
			"It is marked as not verified: the suspension has removed its verification, if it had one.",
	},
}

// maxNotifiedAdmins is the maximum number of admins who are notified of an action.
const maxNotifiedAdmins = 10

// OnOrganizationModerated notifies the admins of an organization of an action on it.
func (s *Service) OnOrganizationModerated(ctx context.Context, e event.OrganizationModerated) error {
	organization, err := s.getOrganization(ctx, e.OrganizationID)
	if err != nil {
		return err
	}

	adminIDs, err := s.Admins(ctx, e.OrganizationID, maxNotifiedAdmins)
	if err != nil {
		return err
	}

	action := OrganizationAction(e.Action)
	text := organizationTexts[action]
	body := strings.ReplaceAll(text.body, "%s", mail.SafeName(organization.Name, "your organization"))

	blocks := append([]mail.Block{{Text: body}}, quoteModerators(e.Message)...)
	if action == SuspendOrganization || action == holdOrganization {
		blocks = append(blocks, s.contactHint())
	}

	for _, adminID := range adminIDs {
		messageID := "organization-" + e.Action + "-" + adminID + "-" + encodeTime(e.ModeratedAt)
		if err := s.notify(ctx, adminID, messageID, text.subject, blocks...); err != nil {
			return err
		}
	}

	return nil
}

// OnAccountModerated notifies the owner of an account of its suspension or restoration.
func (s *Service) OnAccountModerated(ctx context.Context, e event.AccountModerated) error {
	subject := "Your account is not suspended any more"
	body := "Our moderators have restored your account. You can sign in again."

	if e.Action == suspendAccount {
		subject = "Your account is suspended"
		body = "Our moderators have suspended your account. It cannot be used, and all devices were signed out."
	}

	messageID := "account-" + e.Action + "-" + e.UserID + "-" + encodeTime(e.ModeratedAt)

	blocks := append([]mail.Block{{Text: body}}, quoteModerators(e.Message)...)
	if e.Action == suspendAccount {
		blocks = append(blocks, s.contactHint())
	}

	return s.notify(ctx, e.UserID, messageID, subject, blocks...)
}

// contactHint returns the block that names the contact for questions about a negative decision.
func (s *Service) contactHint() mail.Block {
	if s.Contact == "" {
		return mail.Block{Text: "Questions, or a mistake? Contact the operator of the service."}
	}

	return mail.Block{Text: "Questions, or a mistake? Write to " + s.Contact + "."}
}

// quoteModerators returns blocks that quote a message of the moderators. It returns none for an
// empty message.
func quoteModerators(message string) []mail.Block {
	if message == "" {
		return nil
	}

	return []mail.Block{{Text: "The moderators write:"}, {Quote: message}}
}
