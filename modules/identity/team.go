package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/page"
)

// InviteInput names a person whom the organization wants.
type InviteInput struct {
	Name  string `json:"name" validate:"required,notblank,max=200"`
	Email string `json:"email" validate:"required,max=254,email"`
	Role  string `json:"role"`
}

// Invite puts a person on the team list and has an invitation mailed. Whether
// the address has an account makes no difference to the inviter.
func (s *Service) Invite(ctx context.Context, a auth.Actor, in InviteInput) error {
	if !a.May(auth.Manage) {
		return fault.ErrForbidden
	}
	var c checks
	name := c.line("name", in.Name, true)
	email := c.email(in.Email)
	role, ok := ParseOrgRole(in.Role)
	if !ok {
		c.bad("role", "must be one of: admin, recruiter, viewer")
	}
	if err := c.err(); err != nil {
		return err
	}
	mailbox := s.Mailboxes.Key(email)
	optedOut, err := s.OptOuts.Exists(ctx, optOutSubject(mailbox))
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		invited := NewInvited(s.NewID(), email, name, now)
		invited.Key = mailbox
		if u, err := s.findByEmail(ctx, email); err == nil {
			invited.Key = u.EmailKey()
		} else if !errors.Is(err, ErrUserNotFound) {
			return err
		}
		userID, err := s.Users.Invite(ctx, invited)
		if err != nil {
			return err
		}
		m := NewInvitation(s.NewID(), a.OrganizationID, userID, name, email, role, now)
		switch ok, err := s.Organizations.Invite(ctx, m, now); {
		case err != nil:
			return err
		case !ok:
			return ErrAlreadyInTeam
		}
		if err := s.Audit.Record(ctx, audit.By(a, audit.MemberInvited, userID).With(string(role))); err != nil || optedOut {
			return err
		}
		// Counted by the one caller that invites, and so late. A transaction that is
		// repeated counts twice, which errs on the safe side.
		if d, err := s.Limiter.Take(ctx, invitationsPerMailbox, mailbox); err != nil || !d.Allowed {
			return err
		}
		return s.Events.Record(ctx, event.MemberInvited{OrganizationID: a.OrganizationID, UserID: userID, InvitedAt: now})
	})
}

// invitationsPerMailbox limits the mails with which organizations can reach an
// address that did not ask for any. The inviter does not learn that it is used up.
var invitationsPerMailbox = limit.Rule{Name: "invitations", Max: 3, Per: 24 * time.Hour}

// OptOut ends the invitations to the mailbox that the token is for. An invalid
// token is fault.ErrUnauthorized.
func (s *Service) OptOut(ctx context.Context, token string) error {
	mailbox, err := s.Sealer.Unseal(auth.ForOptOut, token)
	if err != nil {
		return err
	}
	return s.OptOuts.Create(ctx, mailbox, s.Clock.Now())
}

// optOutSubject names a mailbox without its address.
func optOutSubject(key string) string { return auth.HashSecret("invitations " + key) }

// Team lists the caller's colleagues and whom the organization has invited.
func (s *Service) Team(ctx context.Context, a auth.Actor, r page.Request) (page.Result[Member], error) {
	if !a.May(auth.AnyPermission) {
		return page.Result[Member]{}, fault.ErrForbidden
	}
	if err := r.CheckID(); err != nil {
		return page.Result[Member]{}, err
	}
	return s.Organizations.Team(ctx, a.OrganizationID, r)
}

// Permissions returns what a member of the caller's organization may do. A
// member of another organization and an unknown user are the same ErrNotInTeam.
func (s *Service) Permissions(ctx context.Context, a auth.Actor, userID string) (Member, error) {
	if !a.May(auth.AnyPermission) {
		return Member{}, fault.ErrForbidden
	}
	userID, ok := id.Canonical(userID)
	if !ok {
		return Member{}, ErrNotInTeam
	}
	return s.Organizations.Member(ctx, a.OrganizationID, userID)
}

// ChangePermissionsInput changes what is given and leaves the rest; a new role
// without permissions brings its own.
type ChangePermissionsInput struct {
	Permissions *PermissionsInput `json:"permissions"`
	Role        string            `json:"role"`
}

// PermissionsInput is Permissions of which anything may be left out.
type PermissionsInput struct {
	Jobs         *JobPermissionsInput         `json:"jobs"`
	Applications *ApplicationPermissionsInput `json:"applications"`
}

// JobPermissionsInput is JobPermissions of which anything may be left out.
type JobPermissionsInput struct {
	Create *bool `json:"create"`
	Update *bool `json:"update"`
	Delete *bool `json:"delete"`
}

// ApplicationPermissionsInput is ApplicationPermissions of which anything may
// be left out.
type ApplicationPermissionsInput struct {
	View   *bool `json:"view"`
	Update *bool `json:"update"`
}

func (in ChangePermissionsInput) over(p Permissions) Permissions {
	set := func(to *bool, from *bool) {
		if from != nil {
			*to = *from
		}
	}
	if in.Permissions == nil {
		return p
	}
	if j := in.Permissions.Jobs; j != nil {
		set(&p.Jobs.Create, j.Create)
		set(&p.Jobs.Update, j.Update)
		set(&p.Jobs.Delete, j.Delete)
	}
	if v := in.Permissions.Applications; v != nil {
		set(&p.Applications.View, v.View)
		set(&p.Applications.Update, v.Update)
	}
	return p
}

// ChangePermissions gives a member another role or other permissions, from the
// member's next request on. Admins only. An organization's last admin stays.
func (s *Service) ChangePermissions(ctx context.Context, a auth.Actor, userID string, in ChangePermissionsInput) (Member, error) {
	if !a.May(auth.Manage) {
		return Member{}, fault.ErrForbidden
	}
	userID, known := id.Canonical(userID)
	if !known {
		return Member{}, ErrNotInTeam
	}
	role, ok := ParseOrgRole(in.Role)
	if !ok {
		return Member{}, fault.InvalidField("role", "must be one of: admin, recruiter, viewer")
	}
	var out Member
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		// Two admins who demote each other come here one after the other, and
		// the second finds the first one's change.
		if err := s.Organizations.Lock(ctx, a.OrganizationID); err != nil {
			return err
		}
		m, err := s.Organizations.Member(ctx, a.OrganizationID, userID)
		if err != nil {
			return err
		}
		next, permissions := m.Role, m.Permissions
		if in.Role != "" && role != m.Role {
			next, permissions = role, role.Defaults()
		}
		permissions = in.over(permissions)
		if next == Admin && permissions != Admin.Defaults() {
			return fault.InvalidField("permissions", "an admin holds every permission")
		}
		if m.guards() && next != Admin {
			if err := s.anotherAdmin(ctx, m.Membership); err != nil {
				return err
			}
		}
		m.Change(next, permissions, s.Clock.Now())
		out = m
		if err := s.Organizations.SaveMember(ctx, &out.Membership); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(a, audit.PermissionsChanged, userID).With(string(next)))
	})
	return out, err
}

// RemoveMember ends the membership of a user in the caller's organization, or
// withdraws the invitation, at once: sessions of the member end and invitation
// links stop working. Admins only. An organization's last admin stays.
func (s *Service) RemoveMember(ctx context.Context, a auth.Actor, userID string) error {
	if !a.May(auth.Manage) {
		return fault.ErrForbidden
	}
	userID, known := id.Canonical(userID)
	if !known {
		return ErrNotInTeam
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Organizations.Lock(ctx, a.OrganizationID); err != nil {
			return err
		}
		m, err := s.Organizations.Member(ctx, a.OrganizationID, userID)
		if err != nil {
			return err
		}
		if m.guards() {
			if err := s.anotherAdmin(ctx, m.Membership); err != nil {
				return err
			}
		}
		if err := s.Organizations.DismissMember(ctx, a.OrganizationID, userID, s.Clock.Now()); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(a, audit.MemberRemoved, userID))
	})
}

// anotherAdmin fails with ErrLastAdmin if the organization has none but m. The
// caller holds the organization's lock.
func (s *Service) anotherAdmin(ctx context.Context, m Membership) error {
	ok, err := s.Organizations.HasOtherAdmin(ctx, m.OrganizationID, m.UserID)
	if err == nil && !ok {
		return ErrLastAdmin
	}
	return err
}

// AcceptInvitationInput carries a mailed token. Password and name are for a
// new account; a signed-in one keeps its own.
type AcceptInvitationInput struct {
	Token    string `json:"token" validate:"required"`
	Password string `json:"password" validate:"omitempty,min=8,max=1024,password"`
	Name     string `json:"name" validate:"max=200"`
}

// AcceptInvitation makes the invited person a member and signs them in. Whoever
// has no account gets one; whoever has one must be signed in with it, since
// the mail alone does not prove who they are to that account.
func (s *Service) AcceptInvitation(ctx context.Context, a auth.Actor, in AcceptInvitationInput, from Client) (SignedIn, error) {
	var c checks
	if in.Token == "" {
		c.bad("token", "is required")
	}
	if a.Guest() {
		c.password("password", in.Password, true)
	}
	name := c.line("name", in.Name, false)
	if err := c.err(); err != nil {
		return SignedIn{}, err
	}
	t, err := s.findMailToken(ctx, in.Token, ForInvitation)
	if err != nil {
		return SignedIn{}, err
	}
	if !a.Guest() && a.UserID != t.UserID {
		return SignedIn{}, ErrSomebodyElses
	}
	hash := ""
	if a.Guest() {
		if hash, err = s.Hasher.Hash(ctx, in.Password); err != nil {
			return SignedIn{}, err
		}
	}
	var out SignedIn
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		u, err := s.spend(ctx, t, now)
		if err != nil {
			return err
		}
		m, err := s.Organizations.Member(ctx, t.OrganizationID, u.ID)
		if errors.Is(err, ErrNotInTeam) || err == nil && m.Status != MemberInvited {
			return errBadToken // the organization thought better of it
		} else if err != nil {
			return err
		}
		switch {
		case u.Status == UserInvited:
			if name == "" {
				name = m.InvitedName
			}
			u.Claim(name, hash, now)
			err = s.Users.Save(ctx, &u)
		case a.UserID != u.ID:
			err = ErrSignInToAccept
		default:
			if err = s.leave(ctx, u.ID); err == nil && u.EmailVerifiedAt.IsZero() {
				err = s.proveAddress(ctx, &u, t.Email, now)
			}
		}
		if err != nil {
			return err
		}
		m.Accept(now)
		if err := s.Organizations.SaveMember(ctx, &m.Membership); err != nil {
			return err
		}
		if err := s.MailTokens.SpendAll(ctx, u.ID, ForInvitation, t.OrganizationID, now); err != nil {
			return err
		}
		if err := s.Audit.Record(ctx, audit.Entry{Action: audit.MemberJoined, Actor: u.ID, OrganizationID: m.OrganizationID, Object: u.ID}.With(string(m.Role))); err != nil {
			return err
		}
		out, err = s.open(ctx, u.ID, from, now)
		return err
	})
	return out, err
}

// proveAddress notes that the owner of the account has used a link that was
// mailed to the address. Until then the account may have been a stranger's,
// whose programs must not work for the organization and whose second factor would
// lock the owner out.
func (s *Service) proveAddress(ctx context.Context, u *User, email string, now time.Time) error {
	if EmailKey(u.Email) == EmailKey(email) {
		u.Verify(now)
	}
	// Saved before the programs are signed out; see Sessions.Hold.
	u.UpdatedAt = now
	if err := s.Users.Save(ctx, u); err != nil {
		return err
	}
	if err := s.dropSecondFactor(ctx, u.ID, time.Time{}, now); err != nil {
		return err
	}
	ended, err := s.Programs.SignOut(ctx, u.ID, now)
	if err != nil || len(ended) == 0 {
		return err
	}
	if err := s.auditUser(ctx, u.ID, audit.ProgramsSignedOut, u.ID); err != nil {
		return err
	}
	return s.Events.Record(ctx, event.ProgramsSignedOut{UserID: u.ID, Programs: labels(ended), SignedOutAt: now})
}

// leave ends the user's present membership, if there is one, unless the
// organization would be left without an admin.
func (s *Service) leave(ctx context.Context, userID string) error {
	m, err := s.Organizations.MembershipOf(ctx, userID)
	if err != nil || m == nil {
		return err
	}
	if err := s.Organizations.Lock(ctx, m.OrganizationID); err != nil {
		return err
	}
	// Again, as it is now that nobody else can change it.
	if m, err = s.Organizations.MembershipOf(ctx, userID); err != nil || m == nil {
		return err
	}
	if m.guards() {
		if err := s.anotherAdmin(ctx, *m); err != nil {
			return err
		}
	}
	return s.removeMember(ctx, m.OrganizationID, userID)
}

// mailToken mints and stores a token for a reaction, to be sent to the address
// of u.
func (s *Service) mailToken(ctx context.Context, u User, p Purpose, organizationID string, now time.Time) (string, error) {
	t, secret := NewMailToken(u.ID, u.Email, p, now)
	t.OrganizationID = organizationID
	return secret, s.MailTokens.Add(ctx, t)
}
