/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* Case G14: opens the library as a plug-in does: many rounds of dlopen and dlclose that leave
   nothing mapped, two copies side by side, and beside a stand-in whose names come first.

   usage: dlopen_host LIBRARY COPY STAND_IN */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <minfer/minfer.h>
#include <stdio.h>
#include <string.h>

typedef mf_status (*load_fn)(const char*, const mf_model_options*, mf_model**, mf_error*);
typedef mf_status (*create_fn)(mf_cancel**, mf_error*);
typedef void (*cancel_fn)(mf_cancel*);
typedef int32_t (*requested_fn)(const mf_cancel*);

static int is_mapped(const char* name) {
  char line[1024];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, name) != NULL;
  if (maps) fclose(maps);
  return found;
}

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (!found) printf("no symbol %s\n", name);
  return found;
}

/* One round of use. ISO C has no cast from void* to a function, so the pointers are copied. */
static int use(void* library) {
  load_fn load;
  create_fn create;
  cancel_fn request, destroy;
  requested_fn requested;
  mf_cancel* cancel = NULL;
  mf_model* model = NULL;
  mf_error error;
  void* p;
  p = symbol(library, "mf_model_load_path"), memcpy(&load, &p, sizeof p);
  p = symbol(library, "mf_cancel_create"), memcpy(&create, &p, sizeof p);
  p = symbol(library, "mf_cancel_request"), memcpy(&request, &p, sizeof p);
  p = symbol(library, "mf_cancel_destroy"), memcpy(&destroy, &p, sizeof p);
  p = symbol(library, "mf_cancel_is_requested"), memcpy(&requested, &p, sizeof p);
  if (create(&cancel, NULL) != MF_STATUS_OK) return 0;
  request(cancel);
  if (requested(cancel) != 1) return 0;
  destroy(cancel);
  return load("no-such-model.gguf", NULL, &model, &error) == MF_STATUS_NOT_FOUND;
}

int main(int argc, char** argv) {
  int round;
  void *stand_in, *one, *two, *version_one, *version_two;
  if (argc != 4) return 2;
  for (round = 0; round < 100; ++round) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      printf("%s\n", dlerror());
      return 1;
    }
    if (!use(library)) return 3;
    if (dlclose(library) != 0) return 4;
  }
  if (is_mapped("libminfer.so")) {
    printf("the library is still mapped after dlclose\n");
    return 5;
  }
  stand_in = dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL);
  one = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  two = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
  if (!stand_in || !one || !two) {
    printf("%s\n", dlerror());
    return 6;
  }
  version_one = symbol(one, "mf_version");
  version_two = symbol(two, "mf_version");
  if (!version_one || version_one == version_two) return 7;
  if (!use(one) || !use(two) || !use(one)) return 8;
  if (*(int*)symbol(stand_in, "stand_in_calls") != 0) {
    printf("the library called into the stand-in\n");
    return 9;
  }
  if (dlclose(one) != 0 || !use(two) || dlclose(two) != 0) return 10;
  printf("100 rounds, two copies, one stand-in\n");
  return 0;
}
