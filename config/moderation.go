package config

// Moderation configures how jobs are treated before a moderator decides about them.
type Moderation struct {
	// NewOrganizations is "publish" or "hold". With publish, the jobs of a new organization
	// are public at once, marked as not verified. With hold, they are not public until a
	// moderator decides about the organization.
	NewOrganizations string `mapstructure:"new_organizations"`
}

// The values of Moderation.NewOrganizations.
const (
	PublishNew = "publish"
	HoldNew    = "hold"
)

// validateModeration checks what is done with the listings of new organizations.
func (c *Config) validateModeration() error {
	if value := c.Moderation.NewOrganizations; value != PublishNew && value != HoldNew {
		return c.Err("moderation.new_organizations", "want publish or hold")
	}

	return nil
}
