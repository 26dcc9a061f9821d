package search

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAnnotate_Heads checks which words of a title are the head, the role that the job is in, and how other words of the
// title change the meaning of the head. The columns are
//   - rule, the name of the rule that the title shows; several titles may show one rule,
//   - title, the title of an advert,
//   - want, the concepts of the title, grouped by the helper describe in annotate_test.go: the role of the job (head=), a
//     role that the job leads to or also accepts (second=), a role that is only mentioned (other=), and the specialty
//     (spec=), grade=, setting=, contract=, hours=, shift= and experience=.
//
// For example, "Dental Registrar" has "head=dentist spec=dentistry grade=registrar-grade": the job is that of a dentist,
// although the word dentist is not in the title. A specialty that a role implies is listed too, as physiotherapy is for
// a physiotherapist.
func TestAnnotate_Heads(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	for _, test := range []struct{ rule, title, want string }{
		// Staff grade, clinical fellow and consultant alone mean a doctor. Beside another profession, each of them is only
		// the grade of that profession.
		{
			rule:  "grade behind a profession",
			title: "Dietitian Staff Grade – Panel",
			want:  "head=dietitian spec=dietetics grade=basic-grade",
		},
		{
			rule:  "grade behind a profession",
			title: "Medical Scientist, Staff Grade – Micro/Virology",
			want:  "head=biomedical-scientist spec=laboratory,microbiology,virology grade=basic-grade",
		},
		{
			rule:  "grade behind a profession",
			title: "Audiologist, Clinical Fellow",
			want:  "head=audiologist spec=audiology grade=clinical-fellow-grade",
		},
		{
			rule:  "grade behind a profession",
			title: "Consultant Pharmacist – Antimicrobials",
			want:  "head=pharmacist spec=pharmacy grade=consultant-grade",
		},
		// After a slash, a grade is an alternative to the role before it. An SHO, a senior house officer, is a doctor.
		{
			rule:  "grade as an alternative",
			title: "Advanced Clinical Practitioner / SHO",
			want:  "head=advanced-clinical-practitioner,doctor grade=sho-grade",
		},
		// No doctors specialize in dentistry, so that a registrar in dentistry is a dentist.
		{
			rule:  "grade in the specialty of a profession",
			title: "Dental Registrar",
			want:  "head=dentist spec=dentistry grade=registrar-grade",
		},
		{
			rule:  "grade in the specialty of a profession",
			title: "Registrar – Paediatric Dentistry",
			want:  "head=dentist spec=dentistry,paediatric-dentistry grade=registrar-grade",
		},
		{
			rule:  "grade in the specialty of a profession",
			title: "Associate Specialist in Podiatry",
			want:  "head=podiatrist spec=podiatry grade=sas-grade",
		},
		{
			rule:  "grade in the specialty of a profession",
			title: "Pharmacy Fellow",
			want:  "head=pharmacist spec=pharmacy grade=clinical-fellow-grade",
		},
		{
			rule:  "grade in a specialty of doctors",
			title: "SHO Maternity",
			want:  "head=doctor spec=maternity grade=sho-grade",
		},
		{
			rule:  "grade in a specialty of doctors",
			title: "Registrar – Laboratory Medicine",
			want:  "head=doctor spec=pathology grade=registrar-grade",
		},
		{
			rule:  "team lead",
			title: "District Nurse Team Lead / Caseload Holder",
			want:  "head=district-nurse second=manager spec=community-nursing",
		},
		{
			rule:  "head of department",
			title: "Orthoptist Head of Department",
			want:  "head=orthoptist second=department-head spec=ophthalmology",
		},
		{
			rule:  "support worker who leads",
			title: "Healthcare Assistant Supervisor",
			want:  "head=healthcare-assistant second=manager",
		},
		// Nurse is a broad role, so that the licence before the word (LPN, a licensed practical nurse) is a head as well.
		{
			rule:  "licence before the head",
			title: "LPN Wound Treatment Nurse",
			want:  "head=licensed-practical-nurse,nurse spec=wound-care",
		},
		{
			rule:  "list in brackets",
			title: "Mental Health Practitioner (Nurse/OT/Social Worker)",
			want: "head=mental-health-practitioner second=nurse,occupational-therapist,social-worker " +
				"spec=mental-health,occupational-therapy,social-work",
		},
		{
			rule:  "list after a dash",
			title: "Case Manager/Discharge Planner – RN or MSW",
			want:  "head=case-manager,discharge-coordinator second=registered-nurse,social-worker spec=case-management,social-work",
		},
		{
			// A support worker needs no registration, so that the professions in brackets are those whom the worker supports.
			rule:  "list of a support worker",
			title: "Therapy Technical Instructor (Physio/OT)",
			want:  "head=therapy-assistant other=physiotherapist,occupational-therapist spec=physiotherapy,occupational-therapy",
		},
		{
			rule:  "list of a non-clinical role",
			title: "Medical Secretary (Physiotherapist)",
			want:  "head=medical-secretary other=physiotherapist spec=physiotherapy",
		},
		{
			rule:  "clerk and what clerks do",
			title: "Clerical Officer Grade IV – Medical Secretary",
			want:  "head=administrator,medical-secretary grade=hse-grade-4",
		},
		{
			rule:  "clerk and what clerks do",
			title: "Clerical Officer (Gr III) – Medical Records",
			want:  "head=medical-records-clerk spec=health-records grade=hse-grade-3",
		},
		{
			rule:  "clerk and what clerks do",
			title: "Clerical Officer – Pharmacy",
			want:  "head=administrator spec=pharmacy",
		},
		// A noun such as "nurse" and a specialty together become one role, if the vocabulary has a name for this role.
		{
			rule:  "noun and a specialty",
			title: "Nurse wanted for friendly dental practice",
			want:  "head=dental-nurse spec=dentistry",
		},
		{
			rule:  "noun and a specialty",
			title: "Nurse – GP Practice",
			want:  "head=practice-nurse spec=general-practice",
		},
		{
			rule:  "noun and a specialty",
			title: "Physician – Family Medicine w/ OB",
			want:  "head=general-practitioner spec=general-practice,obstetrics",
		},
		{
			rule:  "noun and a specialty",
			title: "Supervisor, Transfusion Svcs",
			want:  "head=manager spec=blood-transfusion",
		},
		// The vocabulary has no role for a nurse in cardiology.
		{
			rule:  "noun and a specialty of the same profession",
			title: "Nurse – Cardiology",
			want:  "head=nurse spec=cardiology",
		},
		{
			rule:  "two roles at a slash",
			title: "Research Nurse/Midwife",
			want:  "head=research-nurse,midwife spec=research,maternity",
		},
		{
			rule:  "two roles at a slash",
			title: "HCA / Phlebotomist",
			want:  "head=healthcare-assistant,phlebotomist spec=phlebotomy",
		},
		{
			rule:  "two roles at a slash",
			title: "NP/PA – Cardiology",
			want:  "head=nurse-practitioner,physician-associate spec=cardiology",
		},
		// LPN and LVN, a licensed vocational nurse, are two names of one role.
		{rule: "one role at a slash", title: "LPN/LVN – Nights", want: "head=licensed-practical-nurse shift=nights"},
		{
			rule:  "trainee at a slash",
			title: "Trainee Dental Nurse/Receptionist",
			want:  "second=dental-nurse,receptionist spec=dentistry grade=trainee-grade",
		},
		{
			rule:  "trainee in the next part",
			title: "Anatomical Pathology Technologist (Trainee)",
			want:  "second=mortuary-technician spec=mortuary grade=trainee-grade",
		},
		{
			rule:  "trainee in the next part",
			title: "Optometrist (Pre-reg)",
			want:  "second=optometrist spec=optometry grade=trainee-grade",
		},
		// Qualified nurses may apply too, so that the role is no second choice.
		{
			rule:  "trainee as an alternative",
			title: "Dental Nurse (Qualified OR Trainee)",
			want:  "head=dental-nurse spec=dentistry grade=trainee-grade",
		},
		{
			rule:  "profession of a trainee",
			title: "Trainee Radiographer (Apprenticeship)",
			want:  "second=radiographer spec=imaging grade=trainee-grade,apprentice-grade",
		},
		// The vocabulary has a role for student nurses, so that nurse is not a second choice of this title.
		{rule: "profession of a student", title: "Student Nurse", want: "head=student-nurse"},
		{
			rule:  "specialty without a role",
			title: "Physiotherapy, Senior (Respiratory/ICU)",
			want:  "head=physiotherapist spec=physiotherapy,respiratory,intensive-care grade=senior",
		},
		// Several professions work in intensive care, but only one in physiotherapy.
		{rule: "specialty without a role", title: "ICU", want: "spec=intensive-care"},
		{
			// OR between two names of working hours is the conjunction and not the operating room.
			rule:  "OR between conditions",
			title: "COTA – Full Time OR Part Time",
			want:  "head=occupational-therapy-assistant spec=occupational-therapy hours=full-time,part-time",
		},
		// The conjunction joins concepts of one kind. Travel is a contract and nurse a role, so that OR between them is the
		// operating room, whose specialty is theatres.
		{rule: "OR before a role", title: "Travel OR Nurse", want: "head=nurse spec=theatres contract=travel"},
		// A concept after "no" is not tagged: here, neither obstetrics (OB) nor heart surgery. The specialty anaesthetics is
		// implied by the role.
		{rule: "negation", title: "CRNA – No OB, No Hearts", want: "head=nurse-anaesthetist spec=anaesthetics"},
		{rule: "negation", title: "RDH – No Evenings", want: "head=dental-hygienist spec=dentistry"},
		// After a number, a word may be its unit. "3 days" is not a day shift. "6 PAs" are programmed activities of a
		// contract, not physician associates. "hr" is an hour and not human resources, and the OT beside it is overtime and
		// not an occupational therapist.
		{rule: "unit of a number", title: "Dental Therapist – 3 days", want: "head=dental-therapist spec=dentistry"},
		{
			rule:  "unit of a number",
			title: "Specialty Doctor in GUM 6 PAs",
			want:  "head=doctor spec=sexual-health grade=sas-grade",
		},
		// The number 7 belongs to the band, so that it has no unit, and PA is the role.
		{rule: "unit of a number", title: "Band 7 PA", want: "head=physician-associate grade=band-7 setting=nhs"},
		{rule: "unit of a number", title: "HHA $18/hr + OT", want: "head=home-health-aide setting=home-health"},
		{rule: "hours of the day", title: "EVS Attendant 3p-11:30p", want: "head=cleaner shift=evenings"},
		{rule: "hours of the day", title: "Porter 07:00 – 19:30", want: "head=porter shift=days"},
		// A shift from 11 to 7 is a night shift. The word "shift" itself is a name of shift work, the concept rotating.
		{
			rule:  "hours of the day",
			title: "CNA – 11-7 shift",
			want:  "head=certified-nursing-assistant shift=rotating,nights",
		},
		// Numbers without minutes, a.m. or p.m. are hours only before the word shift.
		{rule: "hours of the day", title: "Staff Nurse 2-10 beds", want: "head=registered-nurse"},
		{
			rule:  "hospitalist of a specialty",
			title: "Laborist / OB Hospitalist",
			want:  "head=doctor spec=obstetrics-gynaecology",
		},
		{
			rule:  "hospitalist of a specialty",
			title: "Pediatric Hospitalist – Nocturnist",
			want:  "head=doctor spec=paediatrics shift=nights",
		},
		{
			rule:  "hospitalist of a specialty",
			title: "EM Physician – Nocturnist",
			want:  "head=doctor spec=emergency shift=nights",
		},
		// PA may be a physician associate. Before "to" and a director, it is a personal assistant.
		{
			rule:  "personal assistant",
			title: "PA to Medical Director",
			want:  "head=personal-assistant other=medical-director",
		},
		// The residency of a nurse is a programme for new graduates. The residency of a doctor is a grade, as in the rule
		// "residency of a doctor" below.
		{
			rule:  "residency of a nurse",
			title: "Registered Nurse (RN) Residency – Med/Surg",
			want:  "head=registered-nurse spec=medical-surgical experience=newly-qualified",
		},
		{
			rule:  "residency of a pharmacist",
			title: "PGY2 Pharmacy Resident – Oncology",
			want:  "head=pharmacy-resident spec=pharmacy,oncology grade=resident-grade",
		},
		{
			rule:  "clinical lead of a profession",
			title: "Clinical Lead – Occupational Therapy",
			want:  "head=clinical-manager second=occupational-therapist spec=occupational-therapy",
		},
		// A profession before the word manager is the head, as in the rule "team lead" above. Pharmacy is a specialty, which
		// does not make the manager a pharmacist.
		{rule: "manager of a department", title: "Pharmacy Area Manager", want: "head=manager spec=pharmacy"},
		// The word "sales" in brackets or after a dash means that the job is in sales. The other roles of the title are then
		// only mentioned.
		{
			rule:  "job in sales",
			title: "Clinical Nurse Advisor, Stoma Products (Sales)",
			want:  "head=commercial-role other=nurse,specialist spec=stoma",
		},
		{
			rule:  "job in sales",
			title: "Home Care Branch Manager – Sales",
			want:  "head=commercial-role other=registered-manager setting=care-home-setting",
		},
		{
			rule:  "sales as a modifier",
			title: "Medical Device Sales – Orthopaedics",
			want:  "head=sales-representative spec=orthopaedics",
		},
		{
			rule:  "hospitalist of a specialty",
			title: "PA Hospitalist – Nights",
			want:  "head=physician-associate spec=internal-medicine shift=nights",
		},
		{
			rule:  "prescriber of a profession",
			title: "Pharmacist Independent Prescriber – GP practice",
			want:  "head=pharmacist spec=pharmacy,prescribing,general-practice",
		},
		{rule: "prescriber of a profession", title: "Non-Medical Prescriber", want: "head=nurse spec=prescribing"},
		// "Ortho" is usually orthopaedics, but orthodontics beside a dental role.
		{
			rule:  "specialty in an abbreviation",
			title: "Dental Assistant – Ortho",
			want:  "head=dental-assistant spec=dentistry,orthodontics",
		},
		{
			rule:  "specialty of two",
			title: "BMS – Blood Sciences",
			want:  "head=biomedical-scientist spec=laboratory,blood-sciences",
		},
		{
			rule:  "setting with a specialty",
			title: "LPN – Pediatrics Home Health",
			want:  "head=licensed-practical-nurse spec=paediatrics setting=paediatric-home-health",
		},
		{
			rule:  "residency of a doctor",
			title: "Resident – Internal Medicine",
			want:  "head=doctor spec=internal-medicine grade=resident-grade",
		},
		// "Endo" is endoscopy beside a nurse. Beside a dental role, it is endodontics.
		{rule: "specialty in an abbreviation", title: "Endo RN", want: "head=registered-nurse spec=endoscopy"},
		{
			rule:  "specialty in an abbreviation",
			title: "RN – CVICU",
			want:  "head=registered-nurse spec=cardiac-intensive-care",
		},
		// RTT is the time from referral to treatment in a title of an administrator. In other titles, RTT is a therapeutic
		// radiographer.
		{rule: "specialty in an abbreviation", title: "RTT Validation Officer", want: "head=appointment-clerk"},
		// CCT is critical care transport for a paramedic. For doctors, CCT is the certificate of a consultant.
		{
			rule:  "specialty in an abbreviation",
			title: "Paramedic – CCT",
			want:  "head=paramedic spec=pre-hospital setting=air-transport",
		},
	} {
		annotation := vocabulary.Annotate(&Advert{Title: test.title})
		assert.Equal(t, test.want, describe(&annotation), "%s: %s", test.rule, test.title)
	}
}

// TestAnnotate_Employers checks which concepts the name of the employer adds to those of the title. Its concepts have
// the suffix @field, as those of the other fields of an advert beside the title. Only words that describe the work
// count. The title of all adverts is "Porter", a role that can work for any employer.
func TestAnnotate_Employers(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	for company, want := range map[string]string{
		"Riverside Surgery":        "head=porter spec@field=general-practice",
		"Smile Dental Surgery":     "head=porter spec@field=dentistry",
		"Harbour Medical Practice": "head=porter spec@field=general-practice",
		"Molloy's Pharmacy":        "head=porter spec@field=pharmacy,community-pharmacy",
		"Compass Hospice":          "head=porter spec@field=palliative-care setting@field=hospice-setting",
		"BrightWords Staffing":     "head=porter setting@field=agency-setting contract@field=agency",
		"Pathfinder Locums":        "head=porter setting@field=agency-setting contract@field=agency",
		"Wye Valley NHS Trust":     "head=porter setting@field=nhs,hospital-setting",
		// A community trust runs clinics and visits homes, so that it is no hospital.
		"Sussex Community NHS Trust": "head=porter setting@field=community-setting,nhs",
		"Cardiff Bay UHB":            "head=porter setting@field=nhs",
		"Gulf Coast Cardiology":      "head=porter spec@field=cardiology",
		// Hands and medicine are specialties elsewhere, but not in a name like these.
		"Helping Hands":      "head=porter",
		"School of Medicine": "head=porter",
	} {
		advert := Advert{Title: "Porter", Company: company}
		annotation := vocabulary.Annotate(&advert)
		assert.Equal(t, want, describe(&annotation), company)
	}
}

// TestAnnotate_EmployerAndTitle checks when the specialty of the employer, here a dental surgery, completes the role of
// the title. It does so if the title is only a noun, but not if the title has a specialty of its own.
func TestAnnotate_EmployerAndTitle(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	for title, want := range map[string]string{
		"Nurse": "head=dental-nurse spec=dentistry",
		// BC/BE is board certified or eligible. In the United States, a specialty without a role probably means a doctor.
		"Neurology – BC/BE": "second=doctor spec=neurology spec@field=dentistry",
		// FM is family medicine, in which general practitioners work, and OB is obstetrics.
		"FM w/ OB": "head=general-practitioner spec=general-practice,obstetrics spec@field=dentistry",
	} {
		annotation := vocabulary.Annotate(&Advert{Title: title, Company: "Ocala Dental Surgery", Country: "us"})
		assert.Equal(t, want, describe(&annotation), title)
	}
}
