import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { programFiles, sharedLibraries } from '../edge/program-files.ts'

/**
 * The package.json of the tarball: what is installed has no source, no script and no workspace. npm packs the file
 * that lies there, so `prepack` writes it and `postpack` puts the clone's own back. After a pack that was killed,
 * `git checkout package.json` does.
 */
const file = fileURLToPath(new URL('../../package.json', import.meta.url))
const kept = fileURLToPath(new URL('../../dist/package.clone.json', import.meta.url))

type Manifest = Readonly<Record<string, unknown>>

/** The published manifest, from the clone's. */
export function published(manifest: Manifest): Manifest {
  const { private: _, workspaces: _w, scripts: _s, devDependencies: _d, allowScripts: _a, ...rest } = manifest
  return {
    ...rest,
    bin: { tidegauge: 'dist/bin.cjs' },
    exports: {
      '.': { types: './dist/types/collector.d.ts', default: `./${programFiles.tidegauge[1]}` },
      './testing': { types: './dist/types/testing.d.ts', default: `./${programFiles.testing[1]}` },
      // Named by the types of collectors, and for code that has no viem of its own.
      './viem': { types: './dist/types/viem.d.ts', default: `./${sharedLibraries.viem}` },
      './viem/*': { types: './dist/types/viem/*.d.ts', default: './dist/viem/*.js' },
      './package.json': './package.json',
    },
  }
}

if (process.argv[2] === 'publish') {
  copyFileSync(file, kept)
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest
  writeFileSync(file, `${JSON.stringify(published(manifest), null, 2)}\n`)
} else if (process.argv[2] === 'restore') {
  renameSync(kept, file)
}
