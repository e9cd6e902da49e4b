import type { FileForm } from './explain.ts'
import { includedFile } from './included-file.ts'
import { jsonSchema } from './json-schema.ts'
import { operatorFile } from './schema.ts'

/** The main file. */
export const operatorForm: FileForm<typeof operatorFile> = {
  schema: operatorFile,
  json: () => jsonSchema(operatorFile),
  emptyFix: 'service and protocols are required; config/local.yaml is a beginning',
  wholeFix: 'write it as key: value lines; service and protocols are required',
}

/** An included file. */
export const includedForm: FileForm<typeof includedFile> = {
  schema: includedFile,
  json: () => jsonSchema(includedFile),
  emptyFix: 'write protocols: … or prices: … in it, or remove the file',
  wholeFix: 'write it as key: value lines: protocols: … or prices: …',
  main: () => jsonSchema(operatorFile),
}
