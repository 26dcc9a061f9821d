package search

import "slices"

// tagEmployer tags the place of work that the employer's name describes: the setting, such as a hospital or an agency, and
// the specialty of the place.
func (a *annotator) tagEmployer() {
	p := &a.company
	for _, f := range p.found {
		c := f.Form.likeliest()
		isCertain := !f.Form.IsAmbiguous() && !vague[c.ID]

		if isCertain && (c.Kind == Setting || c.Kind == Specialty) {
			a.add(c, InField)
		}
	}

	for _, id := range a.workplaces(p) {
		a.addID(id, InField)
	}
}

// workplaces returns the ids of concepts for words that mean a kind of employer only in the name of one: "agency" elsewhere
// in an advert does not mean that an agency advertises.
func (a *annotator) workplaces(p *phrases) []string {
	var ids []string

	has := func(words ...string) bool {
		return slices.ContainsFunc(p.tokens, func(t Token) bool { return slices.Contains(words, Normalize(t.Word)) })
	}
	if has("staffing", "recruitment", "recruiting", "locum", "agency", "resourcing") {
		ids = append(ids, "agency-setting")
		if !a.has(Contract) && a.advert.ContractType == "" {
			ids = append(ids, "agency")
		}
	}

	if has("hospice") {
		ids = append(ids, "palliative-care", "hospice-setting")
	}

	if has("pharmacy", "chemist") && !has("hospital") {
		ids = append(ids, "community-pharmacy")
	}

	// In Britain, "Mill Road Surgery" is a practice of family doctors.
	n := len(p.tokens)

	isSurgery := n > 1 && p.tokens[n-1].Word == "surgery" && a.advert.Country != "us"
	if isSurgery && !has("dental", "veterinary", "vet") {
		ids = append(ids, "general-practice")
	}

	// A trust of the NHS usually runs hospitals. If it runs something else, its name has a word for that.
	isTrust := has("nhs") && has("trust", "ft")
	if isTrust && !has("community", "partnership", "mental", "ambulance", "care", "healthcare") {
		ids = append(ids, "hospital-setting")
	}

	return ids
}

// vague are specialties whose words in a name do not describe the work: Helping Hands,
// School of Medicine.
var vague = map[string]bool{
	"surgery":           true,
	"medicine":          true,
	"hand-surgery":      true,
	"emergency":         true,
	"imaging":           true,
	"nursing-education": true,
	"intensive-care":    true,
}
