// The file of a model in a project folder: an optional front matter with the members of the document, and the text.

/** The name of the file. */
export const MODEL_FILE = 'model.gql'

const FRONT_MATTER = /^---[ \t]*\r?\n[\s\S]*?^---[ \t]*(?:\r?\n|$)/m

/** Where the text of the model begins in its file: after the front matter, if there is one. */
export function modelStart(file: string): number {
  return file.startsWith('---') ? (FRONT_MATTER.exec(file)?.[0].length ?? 0) : 0
}
