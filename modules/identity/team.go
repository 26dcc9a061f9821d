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

// Problems reports an unknown role. A validate tag cannot express the rule, because the role may
// be in upper case.
func (in InviteInput) Problems() []fault.Field {
	if _, ok := ParseOrgRole(in.Role); !ok {
		return errRole.Fields
	}

	return nil
}

// Invite adds an invited user to the team. An event handler sends the invitation later. The result
// does not reveal whether the address has an account, nor whether an e-mail is sent. Only admins can
// call Invite.
func (s *Service) Invite(ctx context.Context, actor auth.Actor, in InviteInput) error {
	if err := cmp.Or(actor.Require(auth.Manage), valid.Check("", in)); err != nil {
		return err
	}

	name := text.Name(in.Name)
	email, _ := text.ParseEmail(in.Email) // validated above, as is the role
	role, _ := ParseOrgRole(in.Role)
	mailbox := s.Mailboxes.Key(email) // the same for all spellings of the address

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

		invitation := NewInvitation(s.NewID(), actor.OrganizationID, userID, name, email, role, now)
		if err := s.storeInvitation(ctx, invitation, now); err != nil {
			return err
		}

		entry := audit.By(actor, audit.MemberInvited, userID).With(string(role))
		if err := s.Audit.Record(ctx, entry); err != nil {
			return err
		}

		// The owner of the address does not want invitations, so no e-mail is sent.
		if isOptedOut {
			return nil
		}

		// If the transaction is repeated, the limiter counts the invitation twice. Fewer e-mails may
		// then be sent than the limit permits, but never more.
		decision, err := s.Limiter.Take(ctx, invitationsPerMailbox, mailbox)
		if err != nil || !decision.Allowed {
			return err
		}

		return s.Events.Record(ctx, event.MemberInvited{OrganizationID: actor.OrganizationID, UserID: userID, InvitedAt: now})
	})
}

// storeInvitation stores an invitation, which may replace an expired one of the same user. It fails
// with ErrAlreadyInTeam if the user is a member or has an invitation that has not expired.
func (s *Service) storeInvitation(ctx context.Context, invitation Membership, now time.Time) error {
	existing, err := s.Members.Get(ctx, invitation.OrganizationID, invitation.UserID)
	if errors.Is(err, ErrNotInTeam) {
		return s.Members.Upsert(ctx, &invitation)
	}

	if err != nil {
		return err
	}

	membership := existing.Membership
	if isRenewed := membership.Renew(invitation, now); !isRenewed {
		return ErrAlreadyInTeam
	}

	return s.Members.Upsert(ctx, &membership)
}

// getOrCreateInvited returns the id of the user with the address, who may have an account. If there
// is none, it stores an invited user.
func (s *Service) getOrCreateInvited(ctx context.Context, name, email, mailbox string, now time.Time) (userID string, err error) {
	const maxAttempts = 2 // the second one finds a user that was created concurrently

	for attempt := 1; ; attempt++ {
		existing, err := s.findByEmail(ctx, email)
		if !errors.Is(err, ErrUserNotFound) {
			return existing.ID, err
		}

		invited := NewInvited(s.NewID(), email, name, now)
		invited.Key = mailbox
		err = s.Users.Create(ctx, &invited)

		wasCreatedConcurrently := errors.Is(err, ErrEmailTaken)
		if !wasCreatedConcurrently || attempt == maxAttempts {
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

// optOutSubject identifies a mailbox (Mailboxes.Key) without revealing its address.
func optOutSubject(mailbox string) string { return auth.HashSecret("invitations " + mailbox) }

// Team lists the members and invited users of the caller's organization. Members without any
// permission cannot call it.
func (s *Service) Team(ctx context.Context, actor auth.Actor, r page.Request) (page.Result[Member], error) {
	if err := cmp.Or(actor.Require(auth.AnyPermission), r.CheckID()); err != nil {
		return page.Result[Member]{}, err
	}

	return s.Members.List(ctx, actor.OrganizationID, MemberFilter{}, r)
}

// Permissions returns a member of the caller's organization with the member's permissions. It
// fails with ErrNotInTeam for every other user id. Members without any permission cannot call it.
func (s *Service) Permissions(ctx context.Context, actor auth.Actor, userID string) (Member, error) {
	if err := actor.Require(auth.AnyPermission); err != nil {
		return Member{}, err
	}

	userID, isID := id.Canonical(userID)
	if !isID {
		return Member{}, ErrNotInTeam
	}

	return s.Members.Get(ctx, actor.OrganizationID, userID)
}

// ChangePermissionsInput contains changes of a member. A nil or empty field leaves its value
// unchanged. A new role first replaces all permissions with the defaults of the role. Then the
// changes in Permissions are applied.
type ChangePermissionsInput struct {
	Permissions *PermissionsInput `json:"permissions"`
	Role        string            `json:"role"`
}

// PermissionsInput contains changes of a member's permissions. A nil field leaves its value unchanged.
type PermissionsInput struct {
	Jobs         *JobPermissionsInput         `json:"jobs"`
	Applications *ApplicationPermissionsInput `json:"applications"`
}

// JobPermissionsInput contains changes of the permissions for jobs. A nil field leaves its value
// unchanged.
type JobPermissionsInput struct {
	Create *bool `json:"create"`
	Update *bool `json:"update"`
	Delete *bool `json:"delete"`
}

// ApplicationPermissionsInput contains changes of the permissions for applications. A nil field
// leaves its value unchanged.
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

// ChangePermissions changes the role or permissions of a member or invited user. They are effective
// for the member's next request. Only admins can call it. It fails with ErrLastAdmin for the last admin
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

	role, isRole := ParseOrgRole(in.Role)
	if !isRole {
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
		if in.Role != "" && role != member.Role { // an empty input is parsed as the default role
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

		entry := audit.By(actor, audit.PermissionsChanged, member.UserID).With(string(nextRole))

		return s.Audit.Record(ctx, entry)
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
		member, err := s.lockMember(ctx, actor.OrganizationID, userID)
		if err != nil {
			return err
		}

		if err := s.requireOtherAdmin(ctx, member.Membership); err != nil {
			return err
		}

		if err := s.removeMembers(ctx, actor.OrganizationID, []Member{member}, s.Clock.Now()); err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(actor, audit.MemberRemoved, member.UserID))
	})
}

// lockMember returns a member or invited user of the organization, or fails with ErrNotInTeam. It
// locks the organization, so that two admins cannot demote or remove each other concurrently.
func (s *Service) lockMember(ctx context.Context, organizationID, userID string) (Member, error) {
	userID, isID := id.Canonical(userID)
	if !isID {
		return Member{}, ErrNotInTeam
	}

	if _, err := s.Organizations.GetForUpdate(ctx, organizationID); err != nil {
		return Member{}, err
	}

	return s.Members.Get(ctx, organizationID, userID)
}

// requireOtherAdmin fails with ErrLastAdmin if m is the only active admin of the organization. It
// returns nil if m is not an active admin. The caller has locked the organization.
func (s *Service) requireOtherAdmin(ctx context.Context, m Membership) error {
	if m.Role != Admin || m.Status != MemberActive {
		return nil
	}

	const maxAdmins = 2 // if there are two, at least one of them is not m

	adminIDs, err := s.Admins(ctx, m.OrganizationID, maxAdmins)
	if err != nil {
		return err
	}

	hasOtherAdmin := slices.ContainsFunc(adminIDs, func(adminID string) bool { return adminID != m.UserID })
	if !hasOtherAdmin {
		return ErrLastAdmin
	}

	return nil
}

// AcceptInvitationInput contains the token of an invitation. Password and Name are used for a new
// account only. Without a Name, the account gets the name that the organization entered.
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
	actor auth.Actor,
	in AcceptInvitationInput,
	from Client,
) (signedIn SignedIn, err error) {
	err = s.acceptInvitation(ctx, actor, in, s.openSessionInto(&signedIn, from))
	return signedIn, err
}

// acceptInvitation accepts the invitation and opens a session with the function open, in one
// transaction. The session is one of an API client or of a browser.
func (s *Service) acceptInvitation(ctx context.Context, actor auth.Actor, in AcceptInvitationInput, open openSessionFunc) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	if actor.Guest() && in.Password == "" {
		return fault.InvalidField("password", "is required")
	}

	token, err := s.findMailToken(ctx, in.Token, ForInvitation)
	if err != nil {
		return err
	}

	if !actor.Guest() && actor.UserID != token.UserID {
		return ErrForAnotherAccount
	}

	// The password is hashed before the transaction, because hashing is slow.
	passwordHash := ""
	if actor.Guest() {
		passwordHash, err = s.Hasher.Hash(ctx, in.Password)
		if err != nil {
			return err
		}
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		if err := s.markUsed(ctx, token, now); err != nil {
			return err
		}

		user, member, err := s.lockInvitation(ctx, token)
		if err != nil {
			return fault.IfNotFound(err, errBadToken)
		}

		hasAccount := user.Status != UserInvited
		if hasAccount {
			err = s.prepareAccount(ctx, actor, &user, token.Email, now)
		} else {
			user.Claim(cmp.Or(text.Name(in.Name), member.InvitedName), passwordHash, now)

			err = s.Users.Update(ctx, &user)
		}

		if err != nil {
			return err
		}

		if err := s.activateMember(ctx, member, now); err != nil {
			return err
		}

		return open(ctx, user.ID, now)
	})
}

// activateMember makes an invited user an active member and records it in the audit log. The links
// of the user's other invitations to the organization become invalid.
func (s *Service) activateMember(ctx context.Context, member Member, now time.Time) error {
	member.Accept(now)

	if err := s.Members.Upsert(ctx, &member.Membership); err != nil {
		return err
	}

	otherLinks := MailTokenFilter{Purpose: ForInvitation, OrganizationID: member.OrganizationID}
	if err := s.revokeTokens(ctx, member.UserID, otherLinks, now); err != nil {
		return err
	}

	joined := audit.Entry{
		Action:         audit.MemberJoined,
		Actor:          member.UserID,
		OrganizationID: member.OrganizationID,
		Object:         member.UserID,
		Detail:         string(member.Role),
	}

	return s.Audit.Record(ctx, joined)
}

// prepareAccount prepares an account for accepting an invitation that was mailed to the address
// email. It ends the membership in another organization and verifies an address that was not
// verified before. It fails with ErrSignInToAccept if the account is not the caller's.
func (s *Service) prepareAccount(ctx context.Context, caller auth.Actor, user *User, email string, now time.Time) error {
	if caller.UserID != user.ID {
		return ErrSignInToAccept
	}

	if _, err := s.removeMembership(ctx, user.ID); err != nil {
		return err
	}

	isVerified := !user.EmailVerifiedAt.IsZero()
	if isVerified {
		return nil
	}

	return s.proveAddress(ctx, user, email, now)
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
	mailToken, err := s.findMailToken(ctx, token, ForInvitation)
	if err != nil {
		return Invitation{}, err
	}

	member, err := s.Members.Get(ctx, mailToken.OrganizationID, mailToken.UserID)
	if err := requireInvited(member, err); err != nil {
		return Invitation{}, err
	}

	user, err := s.getUser(ctx, mailToken.UserID)
	if err != nil {
		return Invitation{}, fault.IfNotFound(err, errBadToken)
	}

	organization, err := s.getOrganization(ctx, mailToken.OrganizationID)
	if err != nil {
		return Invitation{}, fault.IfNotFound(err, errBadToken)
	}

	return Invitation{
		Organization: organization.Name,
		UserID:       user.ID,
		Name:         member.InvitedName,
		Email:        mailToken.Email,
		HasAccount:   user.Status != UserInvited,
	}, nil
}

// lockInvitation returns the user and the invitation of a mailed token, and locks the
// organization. It fails with errBadToken if the invitation was withdrawn or accepted before.
func (s *Service) lockInvitation(ctx context.Context, token MailToken) (user User, member Member, err error) {
	user, err = s.getUser(ctx, token.UserID)
	if err != nil {
		return user, member, err
	}

	member, err = s.lockMember(ctx, token.OrganizationID, user.ID)

	return user, member, requireInvited(member, err)
}

// requireInvited fails with errBadToken if the invitation was withdrawn or accepted before. Its
// arguments are the results of reading the invitation; it returns every other error unchanged.
func requireInvited(member Member, err error) error {
	switch {
	case errors.Is(err, ErrNotInTeam):
		return errBadToken // the invitation was withdrawn
	case err != nil:
		return err
	case member.Status != MemberInvited:
		return errBadToken // the invitation was accepted before
	}

	return nil
}

// proveAddress verifies the address of an account whose owner has used a link that was mailed to the
// address email. Because the address was not verified before, someone else may have registered the
// account. The programs of that person (API keys, OAuth grants, webhooks) must not act for the
// organization, and their second factor would lock the owner out. So proveAddress removes both.
func (s *Service) proveAddress(ctx context.Context, user *User, email string, now time.Time) error {
	// The link does not prove an address to which the account was changed after the e-mail.
	if LowerCaseKey(user.Email) == LowerCaseKey(email) {
		user.Verify(now)
	}

	// Update the account before the programs are signed out. The update locks the account. Every request
	// that creates a program locks it, too (HoldSession). So such a request has finished, and SignOut
	// finds its program, or it waits for this transaction.
	user.UpdatedAt = now
	if err := s.Users.Update(ctx, user); err != nil {
		return err
	}

	if err := s.removeSecondFactor(ctx, user.ID, enabledAnyTime, now); err != nil {
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

	return s.Events.Record(ctx, event.ProgramsSignedOut{
		UserID:      user.ID,
		Programs:    describePrograms(signedOut),
		SignedOutAt: now,
	})
}

// noOrganization is the organizationID of mail tokens that are not for an invitation.
const noOrganization = ""

// createMailToken stores a token for an e-mail to the user and returns its secret. The
// organizationID is the organization of an invitation. For any other token it is noOrganization.
func (s *Service) createMailToken(
	ctx context.Context,
	user User,
	p Purpose,
	organizationID string,
	now time.Time,
) (secret string, err error) {
	token, secret := NewMailToken(user.ID, user.Email, p, now)
	token.OrganizationID = organizationID

	return secret, s.MailTokens.Create(ctx, token)
}
