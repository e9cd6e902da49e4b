#!/usr/bin/env node
// `npm create tidegauge mine` is `tidegauge init mine`, by the package that it brings. Any Node can read this file.
const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')
const { dirname, join } = require('node:path')

let folder = dirname(require.resolve('tidegauge'))
while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
const { bin } = require(join(folder, 'package.json'))
const given = process.argv.slice(2)
const { status } = spawnSync(process.execPath, [join(folder, bin.tidegauge), 'init', ...given], { stdio: 'inherit' })
process.exit(status ?? 1)
