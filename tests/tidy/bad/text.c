int blank; /* WANT */ 
	int tab; /* WANT */
/* TODO: WANT */
/* METODO is a word, XXXL a size */
int fixme; /* FIXME WANT */
/* ===== WANT ===== */
int fine; /* - a dash */
/* path: engine/middle.c */
