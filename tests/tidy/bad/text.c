int blank; /* WANT */ 
	int tab; /* WANT */
/* TODO: WANT */
/* METODO is a word, XXXL a size */
int fixme; /* FIXME WANT */
/* ---- A title is fine, WANT BELOW: a mere line is not ---- */
/* ================ */
int fine; /* - a dash */
/* path: engine/middle.c */
