import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Folders of the packages that modules belong to, by the modules' paths. */
export function packageFolders(modules: Iterable<string>): string[] {
  const folders = [...modules].flatMap(path => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [])
  return [...new Set(folders)].sort()
}

/** Names, versions and licences of the packages in a bundle, whose licences ask for that. */
export function notices(folders: readonly string[]): string {
  const packageNotices = folders.map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package
    return `${name} ${version} (${license})\n\n${licenceText(folder)}`.trim()
  })
  return `The files in this folder contain parts of these packages.\n\n${packageNotices.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

interface Package {
  readonly name: string
  readonly version: string
  readonly license: string
}

function licenceText(folder: string): string {
  const file = readdirSync(folder).find(name => /^(licen[cs]e|copying)(\.|-|$)/i.test(name))
  return file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim()
}
