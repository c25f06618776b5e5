// The client of `grade lsp`: starts it where there are exercises, puts its actions among the commands, and shows
// the katas as a tree and the verdict in the status bar.
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { descriptionOf, iconOf, statusOf, tracksOf } from "./katas";
import type { Kata, Track, Verdict } from "./katas";

const ACTIONS = ["hint", "try", "statement", "next"];
const EXERCISES = "**/exercises/*/*.py";
let client: LanguageClient | undefined;

class Katas implements vscode.TreeDataProvider<Track | Kata> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;

  refresh(): void {
    this.changed.fire();
  }

  async getChildren(above?: Track | Kata): Promise<(Track | Kata)[]> {
    if (above) {
      return "katas" in above ? above.katas : [];
    }
    return client?.isRunning() ? tracksOf(await client.sendRequest<Kata[]>("grade/katas", {})) : [];
  }

  getTreeItem(one: Track | Kata): vscode.TreeItem {
    if ("katas" in one) {
      const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
      const item = new vscode.TreeItem(one.track, one.isOpen ? Expanded : Collapsed);
      item.description = one.description;
      return item;
    }
    const item = new vscode.TreeItem(one.name);
    item.description = descriptionOf(one);
    item.tooltip = one.title;
    item.iconPath = new vscode.ThemeIcon(iconOf(one));
    item.command = { title: "Open", command: "vscode.open", arguments: [vscode.Uri.parse(one.uri)] };
    return item;
  }
}

const katas = new Katas();
const status = vscode.window.createStatusBarItem("decoderDojo.verdict", vscode.StatusBarAlignment.Left);
status.name = "Decoder Dojo";
status.command = "workbench.actions.view.problems";

function show(verdict: Verdict): void {
  status.text = statusOf(verdict);
  status.tooltip = verdict.text;
  status.show();
  katas.refresh();
}

function program(folder: string): string {
  const chosen = vscode.workspace.getConfiguration("decoderDojo").get<string>("path", "").trim();
  const own = path.join(folder, ".venv", "bin", "grade");
  return chosen || (fs.existsSync(own) ? own : "grade");
}

async function start(): Promise<void> {
  await client?.stop().catch(() => undefined);
  status.hide();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (!folder || !(await vscode.workspace.findFiles(EXERCISES, "**/.venv/**", 1)).length) {
    return;
  }
  client = new LanguageClient(
    "decoderDojo",
    "Decoder Dojo",
    { command: program(folder), args: ["lsp"], options: { cwd: folder } },
    {
      documentSelector: [{ scheme: "file", language: "python" }],
      initializationOptions: { verdicts: true },
    },
  );
  client.onNotification("grade/verdict", show);
  try {
    await client.start();
  } catch {
    void vscode.window.showErrorMessage(
      `${program(folder)} does not start. Name the grader's own path in the setting decoderDojo.path.`,
    );
    return;
  }
  await vscode.commands.executeCommand("setContext", "decoderDojo.isRunning", true);
  katas.refresh();
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
    status,
    vscode.window.registerTreeDataProvider("decoderDojo.katas", katas),
    vscode.commands.registerCommand("decoderDojo.restart", start),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("decoderDojo") && start()),
  );
  await start();
}

export function deactivate(): Thenable<void> | undefined {
  return client?.stop();
}
