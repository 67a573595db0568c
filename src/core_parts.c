/* core_parts.c: what a fit does, by itself: a pass over a part of the instances and the instance
 * of a part that stands in for an atom, for whoever keeps instances in parts; single steps. */
#include <string.h>

#include "core_dlfumi.h"

fumi_status dlfumi_pass(const fumi_data *x, const dlfumi_param *par, dlfumi_pass_kind kind,
                        const double *D, dlfumi_part *part, dlfumi_sums *sums,
                        const fumi_host *host) {
  dlfumi_work w;
  const size_t size = sizeof(double) * (size_t)x->N_pos;
  fumi_status status = dlfumi_work_init(&w, x, par, part->A, host);
  if (status != FUMI_OK) return status;
  memcpy(w.p_now, part->p_next, size);
  status = dlfumi_run_pass(&w, kind, D, sums);
  memcpy(part->p, w.p_now, size);
  memcpy(part->p_next, kind == PASS_PAPER ? w.p_next : w.p_now, size);
  return status;
}

fumi_status dlfumi_worst(const fumi_data *x, const dlfumi_param *par, int target, const double *D,
                         const dlfumi_part *part, const int *taken, int n_taken, int *worst,
                         double *most, const fumi_host *host) {
  dlfumi_work w;
  fumi_status status = dlfumi_work_init(&w, x, par, part->A, host);
  if (status == FUMI_OK) status = dlfumi_use_dictionary(&w, D);
  if (status != FUMI_OK) return status;
  memcpy(w.p_now, part->p_next, sizeof(double) * (size_t)x->N_pos);
  status = dlfumi_find_misfit(&w, target, D);
  if (status != FUMI_OK) return status;
  for (int j = 0; j < n_taken; j++) w.misfit[taken[j]] = 0;
  *worst = dlfumi_worst_instance(&w, target);
  *most = *worst < 0 ? 0 : w.misfit[*worst];
  return FUMI_OK;
}

fumi_status dlfumi_step(const fumi_data *x, const dlfumi_param *par, dlfumi_step_kind kind,
                        const double *D_old, dlfumi_state *s, const fumi_host *host) {
  dlfumi_work w;
  dlfumi_update f;
  s->worst_gap = 0;
  fumi_status status = dlfumi_work_init(&w, x, par, s->A, host);
  const dlfumi_keeper keeper = dlfumi_keep_in_memory(&w);
  if (status == FUMI_OK) status = dlfumi_update_init(&f, &keeper, par, s, host);
  if (status == FUMI_OK) status = dlfumi_use_dictionary(&w, s->D);
  if (status != FUMI_OK) return status;
  const dlfumi_plan plan = {.expect_first = kind == STEP_EXPECT,
                            .codes = kind == STEP_CODES,
                            .objective = kind == STEP_OBJECTIVE,
                            .statistics = kind == STEP_ATOMS,
                            .p = s->p};
  memcpy(w.p_now, s->p, sizeof(double) * (size_t)x->N_pos);
  status = dlfumi_run_plan(&w, &plan, host);
  f.sums = *w.group;
  s->worst_gap = f.sums.worst_gap;
  if (kind == STEP_ATOMS && status == FUMI_OK) {
    dlfumi_mark_whole(&f);
    status = dlfumi_update_atoms(&f);
    if (status != FUMI_OK) dlfumi_roll_back(&f);
  }
  if (kind == STEP_OBJECTIVE) {
    memcpy(f.D_old, D_old, sizeof(double) * (size_t)x->d * (size_t)par->K);
    dlfumi_update_cosines(&f);
    dlfumi_record_objective(&f, s->trace);
  }
  return status;
}
