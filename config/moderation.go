package config

// Moderation configures what happens before a moderator decides.
type Moderation struct {
	// NewOrganizations is publish for jobs of new organizations that are public at once,
	// marked as not verified, or hold for jobs that wait until a moderator decides about
	// the organization.
	NewOrganizations string `mapstructure:"new_organizations"`
}

// The values of Moderation.NewOrganizations.
const (
	PublishNew = "publish"
	HoldNew    = "hold"
)

func (c *Config) validateModeration() error {
	if v := c.Moderation.NewOrganizations; v != PublishNew && v != HoldNew {
		return c.Err("moderation.new_organizations", "want publish or hold")
	}
	return nil
}
