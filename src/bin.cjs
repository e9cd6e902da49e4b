#!/usr/bin/env node
'use strict'
// Old syntax, and CommonJS: a Node of any age must be able to say that it is too old.
// package.json asks for more: what is between runs, and is warned of.
const needed = [24, 12]
const own = /(\d+)\.(\d+)/.exec(process.version).slice(1).map(Number)

if (own[0] > needed[0] || (own[0] === needed[0] && own[1] >= needed[1])) {
  if (!process.env.NODE_COMPILE_CACHE) cacheCompiled()
  require('./cli/commands/program.ts')
    .run(process.argv.slice(2))
    .then(exitCode => {
      process.exitCode = exitCode
      // Until its loop has run out, Node takes the handlers away: a further signal would then end it as if it had none.
      if (process.listenerCount('SIGTERM') > 0) process.exit()
    })
} else {
  process.stderr.write(
    `tidegauge: needs Node 24.18.1, 26.5.1, or a newer one of these, and this is ${process.version}: ${
      hasOwnNode() ? 'npx tidegauge uses the one of its folder' : `install one of them${inFolder()}`
    }\n`,
  )
  process.exitCode = 1
}

/** Whether a clone has its own Node, which `npx` finds. */
function hasOwnNode() {
  // biome-ignore lint/style/useNodejsImportProtocol: a Node before 14.18 does not know node: here.
  return require('fs').existsSync(require('path').join(__dirname, '..', 'node_modules', '.bin', 'node'))
}

/** The package that brings Node without a script, which `.npmrc` of `init` forbids: `npm ci` then has it, too. */
function inFolder() {
  const hasPackage = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64')
  return hasPackage ? `; for npx in this folder alone, npm install --save-optional node-linux-${process.arch}@24` : ''
}

/**
 * Lets Node keep what it compiles in the user's cache folder, not in the one that all users share: what is in it is
 * executed. Without a folder that can be written nothing is kept.
 */
function cacheCompiled() {
  const { join } = require('node:path')
  const { existsSync, mkdirSync } = require('node:fs')
  try {
    const caches = process.env.XDG_CACHE_HOME || join(require('node:os').homedir(), '.cache')
    const folder = join(caches, 'tidegauge')
    // One by one: `recursive` never ends in a folder like /proc, as the HOME of some services is.
    for (const each of [caches, folder]) if (!existsSync(each)) mkdirSync(each, { mode: 0o700 })
    require('node:module').enableCompileCache(folder)
  } catch (_) {}
}
