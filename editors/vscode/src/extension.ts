// The client of `grade lsp`: starts it where there are exercises, and puts its actions among the commands.
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

const ACTIONS = ["hint", "try", "statement", "next"];
const EXERCISES = "**/exercises/*/*.py";
let client: LanguageClient | undefined;

function program(folder: string): string {
  const chosen = vscode.workspace.getConfiguration("decoderDojo").get<string>("path", "").trim();
  const own = path.join(folder, ".venv", "bin", "grade");
  return chosen || (fs.existsSync(own) ? own : "grade");
}

async function start(): Promise<void> {
  await client?.stop().catch(() => undefined);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (!folder || !(await vscode.workspace.findFiles(EXERCISES, "**/.venv/**", 1)).length) {
    return;
  }
  client = new LanguageClient(
    "decoderDojo",
    "Decoder Dojo",
    { command: program(folder), args: ["lsp"], options: { cwd: folder } },
    { documentSelector: [{ scheme: "file", language: "python" }] },
  );
  await client.start();
}

function act(action: string): Thenable<unknown> | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return client && uri && vscode.commands.executeCommand(`grade.${action}`, uri.toString());
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  for (const action of ACTIONS) {
    context.subscriptions.push(vscode.commands.registerCommand(`decoderDojo.${action}`, () => act(action)));
  }
  context.subscriptions.push(
    vscode.commands.registerCommand("decoderDojo.restart", start),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("decoderDojo") && start()),
  );
  await start();
}

export function deactivate(): Thenable<void> | undefined {
  return client?.stop();
}
