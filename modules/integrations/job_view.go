package integrations

import "time"

// JobView is a listing in the developer API and in webhooks. Every member is always present;
// a member without a value is null.
type JobView struct {
	ID                  string         `json:"id"`
	Title               string         `json:"title"`
	Description         string         `json:"description"`
	Company             CompanyView    `json:"company"`
	Location            LocationView   `json:"location"`
	Remote              bool           `json:"remote"`
	Specialty           *string        `json:"specialty"`
	EmploymentType      *string        `json:"employment_type"`
	ContractType        *string        `json:"contract_type"`
	Salary              *PayView       `json:"salary"`
	Requirements        []string       `json:"requirements"`
	Benefits            []string       `json:"benefits"`
	Questions           []QuestionView `json:"questions"`
	Status              string         `json:"status"`
	ApplicationDeadline *time.Time     `json:"application_deadline"`
	PostedAt            *time.Time     `json:"posted_at"`
	UpdatedAt           time.Time      `json:"updated_at"`
	// URL is the page of the listing on the site.
	URL string `json:"url" sample:"https://jobs.example.org/jobs/01935d3c-9c1e-7c1a-8f6e-2b7addd42fdc"`
}

// CompanyView is the organization that posted a listing.
type CompanyView struct {
	ID      string  `json:"id"`
	Name    string  `json:"name" sample:"St Brigid’s Hospital"`
	Website *string `json:"website"`
	Logo    *string `json:"logo"`
}

// LocationView is the location of a job. Text is the location as the employer wrote it. The other
// members are empty if the text is not a known place.
type LocationView struct {
	Text      *string  `json:"text" sample:"Leeds"`
	City      *string  `json:"city"`
	Region    *string  `json:"region"`
	Country   *string  `json:"country"` // ISO 3166-1 alpha-2
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
}

// PayView is a range of pay per period, in pounds, euros and so on.
type PayView struct {
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Currency string   `json:"currency"` // ISO 4217
	Period   string   `json:"period"`
}

// QuestionView is a question to applicants.
type QuestionView struct {
	ID       string `json:"id" sample:"pin"`
	Text     string `json:"text"`
	Required bool   `json:"required"`
}
