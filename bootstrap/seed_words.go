package bootstrap

var sizes = []string{"11-50", "51-200", "201-1000", "1001-5000", "5000+"}

var questions = []string{"What is your registration number?", "How many years have you worked in this specialty?", "Are you able to work nights and weekends?", "Do you have the right to work here?", "When could you start?", "Do you drive?", "Tell us about a time when you spoke up for a patient.", "Which record systems have you used?"}

// answers are the answers of demo accounts to the questions.
var answers = map[string]string{
	"What is your registration number?":                     "18A1234E",
	"How many years have you worked in this specialty?":     "Three, and two in general medicine before that.",
	"Are you able to work nights and weekends?":             "Yes, both.",
	"Do you have the right to work here?":                   "Yes.",
	"When could you start?":                                 "Four weeks after an offer.",
	"Do you drive?":                                         "Yes, and a car.",
	"Tell us about a time when you spoke up for a patient.": "A patient’s pain was put down to nerves. I asked for another look, and the scan showed why.",
	"Which record systems have you used?":                   "SystmOne and EPIC.",
}

var firstNames = []string{"Aisha", "Alex", "Amara", "Aoife", "Ben", "Catherine", "Chidi", "Ciara", "Daniel", "Declan", "Elena", "Emily", "Fatima", "Fionn", "Grace", "Hannah", "Imran", "Isla", "James", "Jasmine", "Joseph", "Kwame", "Laura", "Liam", "Maria", "Mohammed", "Niamh", "Oliver", "Orla", "Priya", "Rachel", "Rory", "Samuel", "Sarah", "Siobhán", "Sofia", "Tariq", "Tomasz", "Wei", "Zoë"}

var lastNames = []string{"Adeyemi", "Ahmed", "Allen", "Baker", "Brennan", "Byrne", "Campbell", "Chen", "Clarke", "Davies", "Doyle", "Evans", "Fernandes", "Garcia", "Gallagher", "Hughes", "Ibrahim", "Jackson", "Johnson", "Kaur", "Kelly", "Khan", "Lewis", "MacDonald", "Martin", "Mensah", "Murphy", "Nguyen", "O'Brien", "O'Connor", "Okafor", "Patel", "Reid", "Roberts", "Ryan", "Santos", "Smith", "Taylor", "Walsh", "Williams"}
