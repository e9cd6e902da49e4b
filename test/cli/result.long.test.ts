import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { packageUrl } from '../../src/edge/program-files.ts'
import { temporaryFolder } from '../support/folder.ts'
import { findProgram } from '../support/program.ts'

const bin = fileURLToPath(new URL('src/bin.cjs', packageUrl))

it.skipIf(!existsSync('/dev/full'))('ends with 1 where its result cannot be written, and starts with any HOME', () => {
  // In /proc no folder can be made, and Node's own way to make one never ends there.
  const { NODE_COMPILE_CACHE: _, XDG_CACHE_HOME: __, ...env } = process.env
  const ended = spawnSync(process.execPath, [bin, 'schema', '--help'], {
    env: { ...env, HOME: '/proc' },
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    encoding: 'utf8',
  })
  expect(ended.stderr).toContain('the result could not be written to stdout (ENOSPC)')
  expect(ended.status).toBe(1)
})

/** Locks of files fail as on a network file system without a lock service. */
const shim = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int act(const char *name, int fd, int what, void *with) {
  if (what == F_SETLK || what == F_SETLKW) return errno = ENOLCK, -1;
  return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, name))(fd, what, with);
}
#define AS(name) int name(int fd, int what, ...) { va_list all; va_start(all, what); void *with = va_arg(all, void *); va_end(all); return act(#name, fd, what, with); }
AS(fcntl)
AS(fcntl64)`

const compiler = findProgram('cc', 'gcc')

it.skipIf(process.platform !== 'linux' || compiler.kind === 'missing')(
  'names a file system without locks as such',
  () => {
    if (compiler.kind === 'missing') return
    const folder = temporaryFolder()
    const [source, library] = [join(folder, 'shim.c'), join(folder, 'shim.so')]
    writeFileSync(source, shim)
    execFileSync(compiler.path, ['-shared', '-fPIC', '-o', library, source, '-ldl'])
    writeFileSync(
      join(folder, 't.yaml'),
      'service: embedded\nprotocols: [{ id: p, name: P, collectors: [{ use: host }] }]',
    )
    const { status, stderr } = spawnSync(process.execPath, [bin, 'flush', '--config', join(folder, 't.yaml')], {
      env: { ...process.env, LD_PRELOAD: library },
      encoding: 'utf8',
    })
    expect(stderr).toContain('the file system has no working locks')
    expect(stderr).toContain('put the data folder on a local disk')
    expect(status).toBe(1)
  },
)
