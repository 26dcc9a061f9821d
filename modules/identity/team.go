package identity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// InviteInput is the input of Invite.
type InviteInput struct {
	Name  string `json:"name" validate:"required,notblank,max=200,line"`
	Email string `json:"email" validate:"required,max=254,email"`
	Role  string `json:"role"`
}

// Problems reports an unknown role. A tag cannot express the rule, because upper case is
// permitted.
func (in InviteInput) Problems() []fault.Field {
	if _, ok := ParseOrgRole(in.Role); !ok {
		return errRole.Fields
	}

	return nil
}

// Invite adds an invited user to the team; an event handler sends the invitation. The caller
// does not learn whether the address has an account.
func (s *Service) Invite(ctx context.Context, actor auth.Actor, in InviteInput) error {
	if err := cmp.Or(actor.Require(auth.Manage), valid.Check("", in)); err != nil {
		return err
	}

	name := text.Name(in.Name)
	email, _ := text.ParseEmail(in.Email)
	role, _ := ParseOrgRole(in.Role)
	mailbox := s.Mailboxes.Key(email)

	isOptedOut, err := s.OptOuts.Exists(ctx, optOutSubject(mailbox))
	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()

		userID, err := s.getOrCreateInvited(ctx, name, email, mailbox, now)
		if err != nil {
			return err
		}

		m := NewInvitation(s.NewID(), actor.OrganizationID, userID, name, email, role, now)

		existing, err := s.Members.Get(ctx, actor.OrganizationID, userID)
		if err != nil && !errors.Is(err, ErrNotInTeam) {
			return err
		}

		// A repeated invitation renews the first one.
		isInTeam := err == nil
		if isInTeam {
			if !existing.Renew(m, now) {
				return ErrAlreadyInTeam
			}

			m = existing.Membership
		}

		if err := s.Members.Upsert(ctx, &m); err != nil {
			return err
		}

		if err := s.Audit.Record(ctx, audit.By(actor, audit.MemberInvited, userID).With(string(role))); err != nil {
			return err
		}

		// No e-mail is sent to an address whose owner does not want invitations. The caller does
		// not learn of that.
		if isOptedOut {
			return nil
		}

		// A repeated transaction counts the invitation twice. Fewer e-mails may then be sent than
		// the limit permits, but never more.
		decision, err := s.Limiter.Take(ctx, invitationsPerMailbox, mailbox)
		if err != nil || !decision.Allowed {
			return err
		}

		return s.Events.Record(ctx, event.MemberInvited{OrganizationID: actor.OrganizationID, UserID: userID, InvitedAt: now})
	})
}

// getOrCreateInvited returns the id of the user with the address. If there is none, it stores
// an invited user.
func (s *Service) getOrCreateInvited(ctx context.Context, name, email, key string, now time.Time) (string, error) {
	for attempt := 1; ; attempt++ {
		existing, err := s.findByEmail(ctx, email)
		if !errors.Is(err, ErrUserNotFound) {
			return existing.ID, err
		}

		invited := NewInvited(s.NewID(), email, name, now)
		invited.Key = key
		err = s.Users.Create(ctx, &invited)

		// After ErrEmailTaken, the second attempt finds the account that was created concurrently.
		if !errors.Is(err, ErrEmailTaken) || attempt == 2 {
			return invited.ID, err
		}
	}
}

// invitationsPerMailbox limits the invitations of all organizations to an address. The caller
// of Invite does not learn that the limit is reached.
var invitationsPerMailbox = limit.Rule{Name: "invitations", Max: 3, Per: 24 * time.Hour}

// OptOut ends the invitations to the mailbox of the token. It returns fault.ErrUnauthorized for
// an invalid token.
func (s *Service) OptOut(ctx context.Context, token string) error {
	mailbox, err := s.Sealer.Unseal(auth.ForOptOut, token)
	if err != nil {
		return err
	}

	return s.OptOuts.Create(ctx, mailbox, s.Clock.Now())
}

// optOutSubject identifies a mailbox without revealing its address.
func optOutSubject(key string) string { return auth.HashSecret("invitations " + key) }

// Team lists the members and invited users of the caller's organization.
func (s *Service) Team(ctx context.Context, a auth.Actor, r page.Request) (page.Result[Member], error) {
	if err := cmp.Or(a.Require(auth.AnyPermission), r.CheckID()); err != nil {
		return page.Result[Member]{}, err
	}

	return s.Members.List(ctx, a.OrganizationID, MemberFilter{}, r)
}

// Permissions returns a member of the caller's organization with the member's permissions. It
// fails with ErrNotInTeam for every other user id.
func (s *Service) Permissions(ctx context.Context, a auth.Actor, userID string) (Member, error) {
	if err := a.Require(auth.AnyPermission); err != nil {
		return Member{}, err
	}

	userID, ok := id.Canonical(userID)
	if !ok {
		return Member{}, ErrNotInTeam
	}

	return s.Members.Get(ctx, a.OrganizationID, userID)
}

// ChangePermissionsInput contains changes of a member. A nil or empty field leaves its value
// unchanged. A new role sets the default permissions of the role, to which Permissions is then
// applied.
type ChangePermissionsInput struct {
	Permissions *PermissionsInput `json:"permissions"`
	Role        string            `json:"role"`
}

// PermissionsInput contains changes of Permissions. A nil field leaves its value unchanged.
type PermissionsInput struct {
	Jobs         *JobPermissionsInput         `json:"jobs"`
	Applications *ApplicationPermissionsInput `json:"applications"`
}

// JobPermissionsInput contains changes of JobPermissions. A nil field leaves its value
// unchanged.
type JobPermissionsInput struct {
	Create *bool `json:"create"`
	Update *bool `json:"update"`
	Delete *bool `json:"delete"`
}

// ApplicationPermissionsInput contains changes of ApplicationPermissions. A nil field leaves its
// value unchanged.
type ApplicationPermissionsInput struct {
	View   *bool `json:"view"`
	Update *bool `json:"update"`
}

// applyTo returns p with the changes of the input.
func (in ChangePermissionsInput) applyTo(p Permissions) Permissions {
	if in.Permissions == nil {
		return p
	}

	if j := in.Permissions.Jobs; j != nil {
		patch.Set(&p.Jobs.Create, j.Create)
		patch.Set(&p.Jobs.Update, j.Update)
		patch.Set(&p.Jobs.Delete, j.Delete)
	}

	if a := in.Permissions.Applications; a != nil {
		patch.Set(&p.Applications.View, a.View)
		patch.Set(&p.Applications.Update, a.Update)
	}

	return p
}

// ChangePermissions changes a member's role or permissions, which are effective for the
// member's next request. Only admins can call it. It fails with ErrLastAdmin for the last admin
// of the organization.
func (s *Service) ChangePermissions(
	ctx context.Context,
	actor auth.Actor,
	userID string,
	in ChangePermissionsInput,
) (Member, error) {
	if err := actor.Require(auth.Manage); err != nil {
		return Member{}, err
	}

	role, ok := ParseOrgRole(in.Role)
	if !ok {
		return Member{}, errRole
	}

	var changed Member
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		member, err := s.lockMember(ctx, actor.OrganizationID, userID)
		if err != nil {
			return err
		}

		// Determine the next role and permissions, and check them.
		nextRole, permissions := member.Role, member.Permissions
		if in.Role != "" && role != member.Role {
			nextRole, permissions = role, role.Defaults()
		}

		permissions = in.applyTo(permissions)
		if nextRole == Admin && permissions != Admin.Defaults() {
			return fault.InvalidField("permissions", "an admin holds every permission")
		}

		if nextRole != Admin {
			if err := s.requireOtherAdmin(ctx, member.Membership); err != nil {
				return err
			}
		}

		// Store and record the change.
		member.Change(nextRole, permissions, s.Clock.Now())

		changed = member
		if err := s.Members.Upsert(ctx, &changed.Membership); err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(actor, audit.PermissionsChanged, member.UserID).With(string(nextRole)))
	})

	return changed, err
}

// RemoveMember removes a member from the caller's organization and ends the member's sessions,
// or withdraws an invitation. Only admins can call it. It fails with ErrLastAdmin for the last
// admin of the organization.
func (s *Service) RemoveMember(ctx context.Context, actor auth.Actor, userID string) error {
	if err := actor.Require(auth.Manage); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		m, err := s.lockMember(ctx, actor.OrganizationID, userID)
		if err != nil {
			return err
		}

		if err := s.requireOtherAdmin(ctx, m.Membership); err != nil {
			return err
		}

		if err := s.removeMembers(ctx, actor.OrganizationID, []Member{m}, s.Clock.Now()); err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(actor, audit.MemberRemoved, m.UserID))
	})
}

// lockMember returns a member of the organization. It locks the organization, so that two
// admins cannot demote or remove each other concurrently.
func (s *Service) lockMember(ctx context.Context, organizationID, userID string) (Member, error) {
	userID, ok := id.Canonical(userID)
	if !ok {
		return Member{}, ErrNotInTeam
	}

	if _, err := s.Organizations.GetForUpdate(ctx, organizationID); err != nil {
		return Member{}, err
	}

	return s.Members.Get(ctx, organizationID, userID)
}

// requireOtherAdmin fails with ErrLastAdmin if m is the only active admin of the organization,
// which the caller has locked.
func (s *Service) requireOtherAdmin(ctx context.Context, m Membership) error {
	if m.Role != Admin || m.Status != MemberActive {
		return nil
	}

	const firstAdmins = 2 // at most one of two admins is m

	admins, err := s.Admins(ctx, m.OrganizationID, firstAdmins)
	if err != nil {
		return err
	}

	hasOtherAdmin := slices.ContainsFunc(admins, func(id string) bool { return id != m.UserID })
	if !hasOtherAdmin {
		return ErrLastAdmin
	}

	return nil
}

// AcceptInvitationInput contains the token of an invitation. Password and Name are used for a
// new account only.
type AcceptInvitationInput struct {
	Token    string `json:"token" validate:"required"`
	Password string `json:"password" validate:"omitempty,min=8,max=1024,maxbytes=1024,password"`
	Name     string `json:"name" validate:"max=200,line"`
}

// AcceptInvitation makes the invited user a member and opens a session. If the user has no
// account, it creates one. A user with an account must be signed in, because access to the
// mailbox alone does not authenticate the user.
func (s *Service) AcceptInvitation(
	ctx context.Context,
	a auth.Actor,
	in AcceptInvitationInput,
	from Client,
) (out SignedIn, err error) {
	err = s.acceptInvitation(ctx, a, in, s.openSessionInto(&out, from))
	return out, err
}

// acceptInvitation accepts the invitation and calls open, in one transaction.
func (s *Service) acceptInvitation(ctx context.Context, actor auth.Actor, in AcceptInvitationInput, open openSessionFunc) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	if actor.Guest() && in.Password == "" {
		return fault.InvalidField("password", "is required")
	}

	t, err := s.findMailToken(ctx, in.Token, ForInvitation)
	if err != nil {
		return err
	}

	if !actor.Guest() && actor.UserID != t.UserID {
		return ErrForAnotherAccount
	}

	// The password is hashed before the transaction, because hashing is slow.
	hash := ""
	if actor.Guest() {
		hash, err = s.Hasher.Hash(ctx, in.Password)
		if err != nil {
			return err
		}
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		if err := s.markUsed(ctx, t, now); err != nil {
			return err
		}

		user, member, err := s.lockInvitation(ctx, t)
		if err != nil {
			return fault.IfNotFound(err, errBadToken)
		}

		if user.Status == UserInvited {
			user.Claim(cmp.Or(text.Name(in.Name), member.InvitedName), hash, now)

			err = s.Users.Update(ctx, &user)
		} else {
			err = s.prepareAccount(ctx, actor, &user, t.Email, now)
		}

		if err != nil {
			return err
		}

		member.Accept(now)

		if err := s.Members.Upsert(ctx, &member.Membership); err != nil {
			return err
		}

		// The links of earlier invitations to the organization become invalid, too.
		otherLinks := MailTokenFilter{Purpose: ForInvitation, OrganizationID: t.OrganizationID}
		if err := s.revokeTokens(ctx, user.ID, otherLinks, now); err != nil {
			return err
		}

		joined := audit.Entry{
			Action:         audit.MemberJoined,
			Actor:          user.ID,
			OrganizationID: member.OrganizationID,
			Object:         user.ID,
		}
		if err := s.Audit.Record(ctx, joined.With(string(member.Role))); err != nil {
			return err
		}

		return open(ctx, user.ID, now)
	})
}

// prepareAccount ends the previous membership of an account that accepts an invitation, and
// verifies its address. It fails with ErrSignInToAccept if the caller is not its owner.
func (s *Service) prepareAccount(ctx context.Context, a auth.Actor, u *User, email string, now time.Time) error {
	if a.UserID != u.ID {
		return ErrSignInToAccept
	}

	if _, err := s.removeMembership(ctx, u.ID); err != nil {
		return err
	}

	if !u.EmailVerifiedAt.IsZero() {
		return nil
	}

	return s.proveAddress(ctx, u, email, now)
}

// Invitation is an open invitation, as the page of the link in the e-mail shows it.
type Invitation struct {
	Organization string // the name of the organization
	UserID       string
	Name, Email  string // of the invited user
	// HasAccount is set if the user has an account and has to sign in to accept.
	HasAccount bool
}

// FindInvitation returns the invitation of a mailed token. It returns an Invalid fault about the
// field token for an invalid token.
func (s *Service) FindInvitation(ctx context.Context, token string) (Invitation, error) {
	t, err := s.findMailToken(ctx, token, ForInvitation)
	if err != nil {
		return Invitation{}, err
	}

	member, err := s.Members.Get(ctx, t.OrganizationID, t.UserID)
	if errors.Is(err, ErrNotInTeam) {
		return Invitation{}, errBadToken // withdrawn
	}

	if err != nil {
		return Invitation{}, err
	}

	if member.Status != MemberInvited {
		return Invitation{}, errBadToken // accepted before
	}

	user, err := s.getUser(ctx, t.UserID)
	if err != nil {
		return Invitation{}, fault.IfNotFound(err, errBadToken)
	}

	o, err := s.getOrganization(ctx, t.OrganizationID)
	if err != nil {
		return Invitation{}, fault.IfNotFound(err, errBadToken)
	}

	return Invitation{
		Organization: o.Name,
		UserID:       user.ID,
		Name:         member.InvitedName,
		Email:        t.Email,
		HasAccount:   user.Status != UserInvited,
	}, nil
}

// lockInvitation returns the user and the invitation of a mailed token, and locks the
// organization. It fails with errBadToken if the invitation was withdrawn.
func (s *Service) lockInvitation(ctx context.Context, t MailToken) (user User, member Member, err error) {
	user, err = s.getUser(ctx, t.UserID)
	if err != nil {
		return user, member, err
	}

	member, err = s.lockMember(ctx, t.OrganizationID, user.ID)
	if errors.Is(err, ErrNotInTeam) {
		return user, member, errBadToken // withdrawn
	}

	if err != nil {
		return user, member, err
	}

	if member.Status != MemberInvited {
		return user, member, errBadToken // accepted before
	}

	return user, member, nil
}

// proveAddress verifies the address of an account whose owner has used a mailed link. Because
// the address was not verified before, someone else may have registered the account. The
// programs of that person must not act for the organization, and their second factor would lock
// the owner out, so proveAddress removes both.
func (s *Service) proveAddress(ctx context.Context, user *User, email string, now time.Time) error {
	if LowerCaseKey(user.Email) == LowerCaseKey(email) {
		user.Verify(now)
	}

	// The account is updated before the programs are signed out; see setPassword.
	user.UpdatedAt = now
	if err := s.Users.Update(ctx, user); err != nil {
		return err
	}

	anyTime := time.Time{} // the second factor is removed whenever it was enabled
	if err := s.removeSecondFactor(ctx, user.ID, anyTime, now); err != nil {
		return err
	}

	signedOut, err := s.Programs.SignOut(ctx, user.ID, now)
	if err != nil {
		return err
	}

	if len(signedOut) > 0 {
		if err := s.auditUser(ctx, user.ID, audit.ProgramsSignedOut, user.ID); err != nil {
			return err
		}
	}

	return s.Events.Record(ctx, event.ProgramsSignedOut{UserID: user.ID, Programs: describePrograms(signedOut), SignedOutAt: now})
}

// createMailToken stores a token for an e-mail to the user and returns its secret.
func (s *Service) createMailToken(ctx context.Context, u User, p Purpose, organizationID string, now time.Time) (string, error) {
	t, secret := NewMailToken(u.ID, u.Email, p, now)
	t.OrganizationID = organizationID
	return secret, s.MailTokens.Create(ctx, t)
}
