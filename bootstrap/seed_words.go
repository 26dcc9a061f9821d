package bootstrap

// What the demo data is made of. The organizations and people are invented.

type nation struct {
	name, suffix, currency string
	towns                  []string
	orgs                   []string
	benefits               []string
	register               map[string]string // by family of trades
}

var nations = []nation{
	{
		name: "United Kingdom", suffix: "", currency: "GBP",
		towns: []string{"London", "Leeds", "Manchester", "Birmingham", "Bristol", "Newcastle upon Tyne", "Sheffield", "Liverpool", "Nottingham", "Leicester",
			"Glasgow", "Edinburgh", "Aberdeen", "Dundee", "Inverness", "Cardiff", "Swansea", "Wrexham", "Belfast", "Derry", "Lisburn", "Brighton", "Plymouth", "Exeter",
			"Truro", "Norwich", "Cambridge", "Oxford", "Reading", "Southampton", "Portsmouth", "York", "Bradford", "Wakefield", "Kingston upon Hull", "Lincoln, Lincolnshire",
			"Boston, Lincolnshire", "Derby", "Stoke-on-Trent", "Coventry", "Worcester, Worcestershire", "Gloucester", "Bath", "Taunton", "Bournemouth", "Canterbury", "Maidstone", "Luton", "Carlisle",
			"Preston", "Blackpool", "Bolton", "Sunderland", "Middlesbrough", "Durham, County Durham", "Huddersfield", "Halifax, West Yorkshire", "Shrewsbury", "Croydon", "Hackney", "Camden Town"},
		orgs: []string{"{town} and {name} NHS Foundation Trust", "{name} University Hospitals NHS Trust", "{town} Community Healthcare", "{name} House Care Group",
			"{name} Mental Health NHS Foundation Trust", "{town} Children's Hospital", "{name} Surgery, {town}", "{name} Ambulance Service NHS Trust", "St {name}'s Hospice, {town}", "{name} Independent Hospital"},
		benefits: []string{"NHS pension scheme", "27 days of annual leave plus bank holidays, rising with service", "Season ticket loan", "On-site nursery", "Cycle to work scheme",
			"Blue Light Card discounts", "Free parking on night shifts", "Staff accommodation for the first three months", "Relocation package up to £8,000", "Wellbeing days and counselling", "Funded revalidation and CPD"},
		register: map[string]string{"nurse": "Registration with the NMC", "doctor": "Full GMC registration with a licence to practise", "therapist": "HCPC registration", "support": "The Care Certificate, or willingness to work towards it",
			"science": "HCPC registration", "pharmacy": "GPhC registration", "social": "Registration with Social Work England", "office": "Enhanced DBS check"},
	},
	{
		name: "Ireland", suffix: ", Ireland", currency: "EUR",
		towns: []string{"Dublin", "Cork", "Galway", "Limerick", "Waterford", "Drogheda", "Dundalk", "Sligo", "Letterkenny", "Kilkenny", "Tralee", "Ennis", "Mullingar", "Castlebar", "Wexford", "Naas", "Tullamore", "Portlaoise", "Navan", "Tallaght"},
		orgs:  []string{"{name} University Hospital {town}", "HSE {town} and {name} Community Services", "{name} Private Clinic", "St {name}'s Hospital, {town}", "{name} Nursing Home, {town}", "{town} Primary Care Centre"},
		benefits: []string{"Public service pension", "Premium pay for nights and Sundays", "Relocation allowance for overseas candidates", "Bike to Work and TaxSaver tickets", "Education bursary", "Health and wellbeing programme",
			"Free on-site parking", "Maternity and paternity top-up", "Health insurance contribution"},
		register: map[string]string{"nurse": "Registration with the NMBI", "doctor": "Registration with the Medical Council", "therapist": "CORU registration", "support": "QQI Level 5 in Healthcare Support",
			"science": "CORU registration", "pharmacy": "PSI registration", "social": "CORU registration", "office": "Garda vetting"},
	},
	{
		name: "United States", suffix: "", currency: "USD",
		towns: []string{"New York, NY", "Boston, MA", "Worcester, MA", "Springfield, MA", "Philadelphia, PA", "Pittsburgh, PA", "Baltimore, MD", "Washington, DC", "Richmond, VA", "Durham, NC", "Charlotte, NC", "Atlanta, GA",
			"Jacksonville, FL", "Miami, FL", "Tampa, FL", "Nashville, TN", "Memphis, TN", "Birmingham, AL", "New Orleans, LA", "Houston, TX", "Dallas, TX", "Austin, TX", "San Antonio, TX", "Phoenix, AZ", "Denver, CO",
			"Salt Lake City, UT", "Boise, ID", "Seattle, WA", "Portland, OR", "Portland, ME", "San Francisco, CA", "Los Angeles, CA", "San Diego, CA", "Sacramento, CA", "Las Vegas, NV", "Minneapolis, MN", "Chicago, IL",
			"Springfield, IL", "Milwaukee, WI", "Detroit, MI", "Cleveland, OH", "Columbus, OH", "Indianapolis, IN", "St. Louis, MO", "Kansas City, MO", "Omaha, NE"},
		orgs:     []string{"{name} Regional Medical Center", "{name} Health System", "Saint {name} Hospital", "{name} Pediatrics", "{name} Behavioral Health", "{name} Home Health and Hospice", "University of {name} Medical Center", "{name} Family Practice"},
		benefits: []string{"Medical, dental and vision from day one", "401(k) with employer match", "Sign-on bonus", "Tuition reimbursement", "Paid time off and holidays", "Shift differentials", "Malpractice cover", "Student loan assistance", "Relocation assistance", "Employee assistance program"},
		register: map[string]string{"nurse": "Active state or compact RN license, BLS", "doctor": "Board certified or board eligible, state license", "therapist": "State license in your profession", "support": "State certification, BLS",
			"science": "ASCP, ARRT or equivalent certification", "pharmacy": "State pharmacy license", "social": "LCSW or LMSW", "office": "High school diploma and two years in a medical office"},
	},
}

var orgNames = []string{"Ashgrove", "Beaumont", "Calder", "Dovedale", "Elmwood", "Fairhaven", "Glenmore", "Harrow Hill", "Ivybridge", "Juniper", "Kestrel", "Larkfield", "Meadowbank", "Northgate", "Oakridge", "Pendle", "Quayside", "Riverside",
	"Silverdale", "Thornbury", "Underwood", "Valleyview", "Westmoor", "Yarrow", "Brindle", "Cedarcroft", "Dunmore", "Eastlake", "Foxhall", "Greenfield", "Highcliff", "Linden", "Maplewood", "Newbury", "Orchard", "Priory", "Redwood", "Stonebridge", "Trinity", "Willowbrook"}

var sizes = []string{"11-50", "51-200", "201-1000", "1001-5000", "5000+"}

type grade struct {
	titles    []string
	american  string
	band      string
	low, high float64 // pounds a year
}

type trade struct {
	name, family                      string
	specialties, requirements, duties []string
	grades                            []grade
	remote                            bool
}

var wards = []string{"Acute Medicine", "Cardiology", "Emergency Department", "Intensive Care", "Oncology", "Orthopaedics", "Paediatrics", "Neonatal", "Renal", "Respiratory", "Stroke", "Surgery", "Elderly Care", "Palliative Care", "Gastroenterology", "Neurology", "Haematology", "Dermatology", "Gynaecology", "Theatres"}

var nursing = []string{"Experience on an acute ward", "Confidence with intravenous drugs and cannulation", "A clear way of writing and handing over", "Willingness to work across the week, nights included", "Recent mentoring of students", "A current life support certificate", "Kindness under pressure"}

var nursingDuties = []string{
	"Assess, plan and deliver care for a group of six to eight patients with {specialty} needs", "Give medicines safely and notice early when somebody is getting worse",
	"Lead the handover and keep families in the picture", "Supervise students, newly qualified nurses and healthcare assistants", "Keep records that colleagues can rely on in the middle of the night",
	"Take part in ward rounds and speak up for the patient", "Run a nurse-led clinic one day a week", "Work with the discharge team so that people get home sooner", "Audit falls, pressure damage and infection, and act on what you find",
}

var trades = []trade{
	{name: "Registered Nurse", family: "nurse", specialties: wards, requirements: nursing, duties: nursingDuties, grades: []grade{
		{titles: []string{"Staff Nurse – {specialty}", "Registered Nurse ({specialty})", "{specialty} Nurse", "Staff Nurse"}, american: "RN – {specialty}", band: "5", low: 31049, high: 37796},
		{titles: []string{"Senior Staff Nurse – {specialty}", "Deputy Ward Sister / Charge Nurse", "Clinical Nurse Specialist – {specialty}"}, american: "Charge Nurse, {specialty} (RN)", band: "6", low: 38682, high: 46580},
		{titles: []string{"Ward Manager – {specialty}", "Ward Sister – {specialty}", "Advanced Nurse Practitioner – {specialty}"}, american: "Nurse Practitioner – {specialty}", band: "7", low: 47810, high: 54710}}},
	{name: "Mental Health Nurse", family: "nurse", specialties: []string{"Acute Inpatient", "CAMHS", "Community Mental Health", "Forensic", "Eating Disorders", "Older Adults", "Crisis Team", "Addictions"}, requirements: nursing, duties: []string{
		"Carry a caseload and agree care plans with the people on it", "Assess risk and plan for safety together with the person and their family", "Run groups on the ward and one-to-one sessions", "Give depot injections and watch physical health", "Work with police, housing and the voluntary sector", "Keep restraint the rare exception"},
		remote: true, grades: []grade{{titles: []string{"Registered Mental Health Nurse – {specialty}", "RMN – {specialty}", "Community Psychiatric Nurse"}, american: "Psychiatric RN – {specialty}", band: "5", low: 31049, high: 37796}, {titles: []string{"Senior Mental Health Practitioner – {specialty}", "Crisis Practitioner"}, band: "6", low: 38682, high: 46580}}},
	{name: "Healthcare Assistant", family: "support", specialties: wards, requirements: []string{"Some experience of caring, paid or unpaid", "Patience and a sense of humour", "Good spoken and written English", "Willingness to work shifts", "A full driving licence"}, duties: []string{
		"Help patients to wash, dress, eat and move about with dignity", "Take and record observations and tell the nurse what worries you", "Keep bays clean, stocked and calm", "Sit with people who are confused or afraid", "Accompany patients to scans and appointments", "Support rehabilitation and personal care in people's homes"},
		grades: []grade{{titles: []string{"Healthcare Assistant – {specialty}", "Healthcare Support Worker", "HCA – {specialty}"}, american: "Certified Nursing Assistant – {specialty}", band: "2", low: 24071, high: 25674}, {titles: []string{"Senior Healthcare Assistant – {specialty}"}, american: "Patient Care Technician – {specialty}", band: "3", low: 25760, high: 27476}}},
	{name: "Intensive Care Nurse", family: "nurse", specialties: []string{"Intensive Care", "Neonatal Intensive Care", "Paediatric Intensive Care", "Cardiac Intensive Care", "High Dependency"}, requirements: append([]string{"A critical care course or willingness to do one"}, nursing...), duties: append([]string{"Care for one or two ventilated patients at a time", "Manage filters, lines and vasoactive infusions"}, nursingDuties...),
		grades: []grade{{titles: []string{"ICU Nurse", "Critical Care Staff Nurse", "Staff Nurse – {specialty}"}, american: "RN – ICU ({specialty})", band: "5", low: 31049, high: 37796}, {titles: []string{"Senior Critical Care Nurse", "Critical Care Outreach Nurse"}, american: "ICU Charge Nurse (RN)", band: "6", low: 38682, high: 46580}}},
	{name: "Midwife", family: "nurse", specialties: []string{"Labour Ward", "Community Midwifery", "Antenatal Clinic", "Birth Centre", "Postnatal Ward"}, requirements: nursing, duties: []string{"Care for women and families before, during and after birth", "Lead low-risk births and work with obstetricians when plans change", "Support feeding in the first days", "Run antenatal clinics and home visits", "Perineal suturing and cannulation", "Take your turn on call"},
		grades: []grade{{titles: []string{"Midwife – {specialty}", "Rotational Midwife"}, american: "Certified Nurse Midwife", band: "5", low: 31049, high: 37796}, {titles: []string{"Band 6 Midwife – {specialty}", "Bereavement Midwife", "Community Midwife"}, band: "6", low: 38682, high: 46580}}},
	{name: "Physiotherapist", family: "therapist", specialties: []string{"Musculoskeletal", "Respiratory", "Stroke", "Paediatrics", "Orthopaedics", "Community", "Sports Medicine", "Elderly Care"}, requirements: []string{"A degree in physiotherapy", "Experience in rotations", "Skill in hands-on treatment and exercise prescription", "Experience with supervision of students", "Confidence in first-contact work"}, duties: []string{
		"Assess and treat people with {specialty} conditions", "Write programmes that people will actually do", "Mobilise patients on the ward from the first day", "Teach carers and families safe handling", "Take part in the weekend rota", "Measure outcomes and share them with the team"}, remote: true,
		grades: []grade{{titles: []string{"Rotational Physiotherapist", "Physiotherapist – {specialty}"}, american: "Physical Therapist – {specialty}", band: "5", low: 31049, high: 37796}, {titles: []string{"Specialist Physiotherapist – {specialty}", "Band 6/7 Physiotherapist – {specialty}"}, american: "Senior Physical Therapist – {specialty}", band: "6", low: 38682, high: 46580}}},
	{name: "Occupational Therapist", family: "therapist", specialties: []string{"Acute Hospital", "Community", "Mental Health", "Hand Therapy", "Paediatrics", "Stroke", "Reablement"}, requirements: []string{"A degree in occupational therapy", "Experience of assessing people at home", "Knowledge of equipment and adaptations", "A driving licence"}, duties: []string{
		"Assess how people manage at home and plan what would help", "Order equipment and small adaptations", "Work towards goals that matter to the person", "Lead discharge planning meetings", "Run groups for memory, fatigue and daily living"},
		grades: []grade{{titles: []string{"Occupational Therapist – {specialty}", "Rotational Occupational Therapist"}, american: "Occupational Therapist – {specialty}", band: "5", low: 31049, high: 37796}, {titles: []string{"Senior Occupational Therapist – {specialty}"}, band: "6", low: 38682, high: 46580}}},
	{name: "Radiographer", family: "science", specialties: []string{"CT", "MRI", "Mammography", "Interventional Radiology", "General X-ray", "Ultrasound", "Radiotherapy"}, requirements: []string{"A degree in radiography", "Experience on a busy trauma list", "Cannulation", "Knowledge of IR(ME)R or local radiation law"}, duties: []string{
		"Image patients from theatre, wards, clinics and the emergency department", "Keep doses as low as the question allows", "Check quality and service records of the scanner", "Explain to anxious people what happens next", "Take part in the on-call rota"},
		grades: []grade{{titles: []string{"Diagnostic Radiographer", "Radiographer – {specialty}"}, american: "Radiologic Technologist – {specialty}", band: "5", low: 31049, high: 37796}, {titles: []string{"Senior Radiographer – {specialty}", "Sonographer"}, american: "Lead Technologist – {specialty}", band: "7", low: 47810, high: 54710}}},
	{name: "Biomedical Scientist", family: "science", specialties: []string{"Haematology", "Biochemistry", "Microbiology", "Cellular Pathology", "Blood Transfusion", "Immunology"}, requirements: []string{"An accredited degree in biomedical science", "A registration portfolio", "Experience with ISO 15189", "Willingness to work shifts"}, duties: []string{
		"Run and validate tests on automated analysers", "Authorize results and phone what cannot wait", "Cross-match blood for emergencies", "Maintain quality control and traceability", "Train new scientists"},
		grades: []grade{{titles: []string{"Biomedical Scientist – {specialty}", "Specialist Biomedical Scientist – {specialty}"}, american: "Medical Laboratory Scientist – {specialty}", band: "6", low: 37338, high: 44962}}},
	{name: "Pharmacist", family: "pharmacy", specialties: []string{"Clinical Pharmacy", "Oncology Pharmacy", "Aseptic Services", "Primary Care", "Community Pharmacy", "Medicines Information"}, requirements: []string{"A pharmacy degree and pre-registration year", "A clinical diploma, or progress towards it", "Independent prescribing", "Experience of medicines reconciliation"}, duties: []string{
		"Review medicines on the wards and join the round", "Counsel patients before they go home", "Answer questions from doctors and nurses", "Prescribe within your scope", "Keep chemotherapy and controlled drugs safe"}, remote: true,
		grades: []grade{{titles: []string{"Clinical Pharmacist", "Rotational Pharmacist", "Pharmacist – {specialty}"}, american: "Staff Pharmacist – {specialty}", band: "7", low: 46148, high: 52809}}},
	{name: "Consultant", family: "doctor", specialties: []string{"Anaesthetics", "Cardiology", "Emergency Medicine", "General Surgery", "Geriatric Medicine", "Obstetrics and Gynaecology", "Oncology", "Orthopaedic Surgery", "Paediatrics", "Psychiatry", "Radiology", "Respiratory Medicine", "Acute Medicine", "Dermatology"}, requirements: []string{"Entry on the specialist register or within six months of it", "Experience of teaching and appraisal", "A record of audit and improvement", "Leadership of a multidisciplinary team"}, duties: []string{
		"Lead a team in {specialty} together with eight colleagues", "See new patients in clinic and on the wards", "Take part in a one-in-ten on-call rota", "Teach residents and medical students", "Develop the service with managers and commissioners", "Operate or perform procedures on two lists a week"},
		grades: []grade{{titles: []string{"Consultant in {specialty}", "Locum Consultant – {specialty}"}, american: "Attending Physician – {specialty}", low: 105504, high: 139882}, {titles: []string{"Specialty Doctor – {specialty}", "Registrar – {specialty}"}, american: "Hospitalist – {specialty}", low: 59175, high: 95400}}},
	{name: "General Practitioner", family: "doctor", specialties: []string{"General Practice", "Out of Hours", "Urgent Care"}, requirements: []string{"A certificate of completion of training in general practice", "Knowledge of the local record system", "Interest in teaching", "A special interest such as diabetes or women's health"}, duties: []string{
		"Hold two surgeries a day with protected time for results and letters", "Visit people who cannot come in", "Lead on one chronic disease", "Supervise trainees and advanced practitioners", "Give telephone and video consultations"}, remote: true,
		grades: []grade{{titles: []string{"Salaried GP", "General Practitioner", "GP Partner", "Out of Hours GP"}, american: "Family Medicine Physician", low: 73114, high: 110330}}},
	{name: "Paramedic", family: "therapist", specialties: []string{"Emergency Care", "Urgent Care", "Critical Care", "Primary Care"}, requirements: []string{"A paramedic science degree", "A C1 driving licence", "Sound decisions on your own", "Experience of see and treat"}, duties: []string{
		"Respond to emergencies and treat people where they are", "Decide who needs hospital and who does not", "Mentor newly qualified paramedics", "Hand over clearly in the emergency department", "Visit patients for a group of practices"},
		grades: []grade{{titles: []string{"Paramedic", "Newly Qualified Paramedic"}, american: "Paramedic (EMT-P)", band: "5", low: 31049, high: 37796}, {titles: []string{"Specialist Paramedic – {specialty}", "Primary Care Paramedic"}, band: "6", low: 38682, high: 46580}}},
	{name: "Operating Department Practitioner", family: "therapist", specialties: []string{"Anaesthetics", "Scrub", "Recovery"}, requirements: []string{"A qualification in operating department practice", "Experience in two of anaesthetics, scrub and recovery", "Attention to detail in counts and checks"}, duties: []string{
		"Prepare theatre and check equipment before every list", "Assist the anaesthetist with airways and lines", "Scrub for elective and emergency cases", "Care for patients as they wake up", "Lead the surgical safety checklist"},
		grades: []grade{{titles: []string{"Operating Department Practitioner", "ODP – {specialty}", "Theatre Practitioner – {specialty}"}, american: "Surgical Technologist – {specialty}", band: "5", low: 31049, high: 37796}, {titles: []string{"Senior ODP – {specialty}", "Theatre Team Leader"}, american: "Operating Room Nurse (RN)", band: "6", low: 38682, high: 46580}}},
	{name: "Speech and Language Therapist", family: "therapist", specialties: []string{"Adult Acute", "Paediatrics", "Stroke", "Voice", "Learning Disability"}, requirements: []string{"A degree in speech and language therapy", "Dysphagia competencies", "Experience of working with families and schools"}, duties: []string{
		"Assess swallowing and communication", "Plan therapy with the person and those around them", "Train ward staff, schools and care homes", "Use videofluoroscopy where it helps"}, remote: true,
		grades: []grade{{titles: []string{"Speech and Language Therapist – {specialty}"}, american: "Speech-Language Pathologist – {specialty}", band: "6", low: 38682, high: 46580}}},
	{name: "Social Worker", family: "social", specialties: []string{"Adults", "Children and Families", "Mental Health", "Hospital Discharge", "Safeguarding"}, requirements: []string{"A degree in social work", "Knowledge of the law that applies here", "A way with people in distress", "A driving licence"}, duties: []string{
		"Assess needs and risks and write them down fairly", "Plan support together with the person", "Act when somebody is not safe", "Work with hospitals so that nobody waits for care", "Present cases in court or at tribunal"},
		grades: []grade{{titles: []string{"Social Worker – {specialty}", "Senior Social Worker – {specialty}", "Approved Mental Health Professional"}, american: "Licensed Clinical Social Worker – {specialty}", band: "6", low: 36648, high: 44500}}},
	{name: "Support Worker", family: "support", specialties: []string{"Learning Disability", "Supported Living", "Home Care", "Dementia Care", "Children's Home"}, requirements: []string{"Respect for other people's choices", "Reliability", "Some experience of care", "A driving licence and a car"}, duties: []string{
		"Support people to live the life that they want", "Help with personal care, medicines, money and cooking", "Go along to work, college, friends and the football", "Keep notes that are honest and short", "Sleep in once or twice a week"},
		grades: []grade{{titles: []string{"Support Worker – {specialty}", "Care Assistant", "Home Carer"}, american: "Home Health Aide – {specialty}", low: 22800, high: 24900}, {titles: []string{"Team Leader – {specialty}", "Registered Manager – {specialty}"}, american: "Program Manager – {specialty}", low: 28500, high: 39000}}},
	{name: "Dental Nurse", family: "support", specialties: []string{"General Dentistry", "Orthodontics", "Oral Surgery", "Community Dental"}, requirements: []string{"A dental nursing qualification", "Experience with digital X-rays", "Calm with nervous patients"}, duties: []string{
		"Assist at the chair and look after the surgery", "Decontaminate instruments to standard", "Take radiographs within your competence", "Keep records and stock"},
		grades: []grade{{titles: []string{"Dental Nurse", "Trainee Dental Nurse", "Dental Nurse – {specialty}"}, american: "Dental Assistant – {specialty}", band: "4", low: 24500, high: 29100}, {titles: []string{"Associate Dentist", "Dental Hygienist"}, american: "Dental Hygienist", low: 38000, high: 72000}}},
	{name: "Medical Secretary", family: "office", specialties: []string{"Cardiology", "Outpatients", "Surgery", "Oncology", "Mental Health"}, requirements: []string{"Audio typing", "Knowledge of medical terms", "Discretion", "Experience with patient administration systems"}, duties: []string{
		"Run the diary and letters of three consultants", "Book clinics and chase results", "Answer the telephone to worried people", "Keep waiting lists honest"}, remote: true,
		grades: []grade{{titles: []string{"Medical Secretary – {specialty}", "Ward Clerk – {specialty}", "GP Receptionist"}, american: "Medical Office Assistant – {specialty}", band: "3", low: 25147, high: 27596}}},
	{name: "Hospital Porter", family: "office", specialties: []string{"Facilities", "Theatres", "Pathology"}, requirements: []string{"A friendly manner", "Fitness for a job on your feet", "Willingness to work shifts"}, duties: []string{
		"Move patients safely and kindly", "Carry samples, blood and gas cylinders", "Know the building better than the map", "Help security when asked"},
		grades: []grade{{titles: []string{"Porter", "Theatre Porter", "Housekeeper", "Domestic Assistant"}, american: "Patient Transporter", band: "2", low: 23615, high: 24336}}},
}

var questions = []string{"What is your registration number?", "How many years have you worked in this specialty?", "Are you able to work nights and weekends?", "Do you have the right to work here?", "When could you start?", "Do you hold a full driving licence?", "Tell us about a time when you spoke up for a patient.", "Which record systems have you used?"}

// answers are what the demo's people answer to them.
var answers = map[string]string{
	"What is your registration number?":                     "18A1234E",
	"How many years have you worked in this specialty?":     "Three, and two in general medicine before that.",
	"Are you able to work nights and weekends?":             "Yes, both.",
	"Do you have the right to work here?":                   "Yes.",
	"When could you start?":                                 "Four weeks after an offer.",
	"Do you hold a full driving licence?":                   "Yes, and a car.",
	"Tell us about a time when you spoke up for a patient.": "A patient’s pain was put down to nerves. I asked for another look, and the scan showed why.",
	"Which record systems have you used?":                   "SystmOne and EPIC.",
}

var shifts = []string{"37.5 hours a week", "three long days or nights a week", "36 hours a week", "30 hours a week", "a rolling rota of days, lates and nights", "hours that we agree with you", "22.5 hours a week"}

var openings = []string{
	"{org} is looking for a {role} to join {specialty} in {town}.",
	"An opportunity has come up in {town} for a {role} with an interest in {specialty}.",
	"Come and work as a {role} at {org}. We are expanding {specialty} and would like to hear from you.",
	"Are you a {role} who wants time to do the job well? Our {specialty} team in {town} has a place for you.",
	"We have a post in {specialty} for an experienced {role}, or for one who is ready for the next step.",
	"{specialty} at {org} has grown by a third in two years, and so must the team.",
}

var teams = []string{
	"You will join a settled team of twenty with low turnover and a manager who works clinically.",
	"The team is small, the cups of tea are frequent and the standards are high.",
	"You will work {hours}, with your rota published eight weeks ahead.",
	"We staff to the acuity of our patients and not to a spreadsheet, and we mean it.",
	"The service was rated good in its last inspection and outstanding for caring.",
	"Colleagues say that they stay because somebody listens when they speak up.",
}

var duties = []string{
	"Take part in clinical supervision and keep your own practice up to date", "Share what you know with students and new colleagues", "Contribute to audit, research and improvement projects",
	"Work across sites in and around {town} when needed", "Treat patients, families and colleagues with respect and good humour", "Report what goes wrong and help to put it right",
}

var about = []string{
	"{org} serves half a million people in and around {town}. We opened a new wing last year and have money set aside for equipment.",
	"{org} is a teaching organization with close ties to two universities, and we train a quarter of our own workforce.",
	"We are a not-for-profit employer. Whatever is left at the end of the year goes into staff, buildings and kit.",
	"{town} has green spaces, good schools and houses that people on our pay can afford, and the station is ten minutes from the door.",
	"Our electronic record went live three years ago and, to everybody's surprise, works.",
}

var about2 = []string{
	"You can ask for flexible working from the first day, and nine out of ten requests are agreed.", "There is free parking at night and a bus that runs when shifts end.",
	"A buddy will look after you for the first six weeks, and you will be supernumerary for at least two of them.", "We welcome people returning after a career break and those who qualified abroad.",
	"Menopause, neurodiversity and carers' networks meet every month, in working time.",
}

var growth = []string{
	"There is a funded path from here to the next grade, with study leave that is not cancelled.", "You will have an appraisal that is about you, and a training budget of your own.",
	"We pay for courses and conferences, and we expect you to tell us about them afterwards.", "Many of our senior staff started in this very post.", "A preceptorship of twelve months is there for the newly qualified.",
}

var closings = []string{
	"For an informal chat or a visit, ring the department and ask for the lead. We interview every two weeks.",
	"We may close early if we receive many applications, so please do not wait for the last day.",
	"We are an equal opportunities employer and guarantee an interview to disabled applicants who meet the essential criteria.",
	"References and background checks are taken up before you start.",
	"Apply with a short letter that says why this post and why now.",
}

var firstNames = []string{"Aisha", "Alex", "Amara", "Aoife", "Ben", "Catherine", "Chidi", "Ciara", "Daniel", "Declan", "Elena", "Emily", "Fatima", "Fionn", "Grace", "Hannah", "Imran", "Isla", "James", "Jasmine", "Joseph", "Kwame", "Laura", "Liam", "Maria", "Mohammed", "Niamh", "Oliver", "Orla", "Priya", "Rachel", "Rory", "Samuel", "Sarah", "Siobhán", "Sofia", "Tariq", "Tomasz", "Wei", "Zoë"}

var lastNames = []string{"Adeyemi", "Ahmed", "Allen", "Baker", "Brennan", "Byrne", "Campbell", "Chen", "Clarke", "Davies", "Doyle", "Evans", "Fernandes", "Garcia", "Gallagher", "Hughes", "Ibrahim", "Jackson", "Johnson", "Kaur", "Kelly", "Khan", "Lewis", "MacDonald", "Martin", "Mensah", "Murphy", "Nguyen", "O'Brien", "O'Connor", "Okafor", "Patel", "Reid", "Roberts", "Ryan", "Santos", "Smith", "Taylor", "Walsh", "Williams"}
