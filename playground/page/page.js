// Three chats, drawn from server-sent events. No framework: one element a message, replaced in place when it changes.

const $ = (selector, root = document) => root.querySelector(selector);
const windows = new Map(); // platform → Chat
const chinese = navigator.language.toLowerCase().startsWith("zh");
const TYPING_SECONDS = 6;
const ASIDE_SECONDS = 8;
const ACTS = { reply: "Reply", edit: "Edit", delete: "Delete" };

const TRIES = chinese
  ? ["你好", "搜索太阳能的最新新闻", "画函数 sin(x) + x/3", "画一只红狐狸", "北京天气", "10秒后提醒我站起来", "长文", "帮助"]
  : ["hello", "search the latest news about solar power", "plot sin(x) + x/3", "draw a red fox", "weather in Oslo",
     "remind me in 10 seconds to stretch", "long", "长文", "help"];
const WELCOME = chinese ? "写点什么，看回答怎样一点一点出现。" : "Write something and watch the answer grow.";

const act = (name, body) => post(`do/${name}`, { "Content-Type": "application/json" }, JSON.stringify(body));

/** Ask the playground for something; whether it did it. What went wrong is shown. */
async function post(path, headers, body) {
  let told = "";
  try {
    const answer = await fetch(path, { method: "POST", headers, body });
    if (!answer.ok) told = (await answer.json()).problem ?? `the page answered ${answer.status}`;
  } catch {
    told = "the playground does not answer: was it ended?";
  }
  problem(told);
  return !told;
}

function problem(text) {
  $("#problem").hidden = !text;
  $("#problem").textContent = text;
}

function element(tag, text, properties = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...properties });
}

/** One platform's window: its places, its messages, and the field to write in. */
class Chat {
  constructor(told) {
    this.name = told.name;
    this.title = told.title;
    this.places = told.places;
    this.offers = told.offers;
    this.voice = told.recording; // what a recording is called here
    this.mostBytes = told.mostBytes;
    this.attached = []; // what is sent with the next message
    this.sending = false; // files are on their way
    this.opening = false; // the browser is asked for the microphone
    this.recorder = null;
    this.aim = null; // the message one is about to change, or to reply to: {kind, view}
    this.draft = ""; // what stood in the field before a message was to be changed
    this.messages = new Map(); // "chat id" → the newest view
    this.articles = new Map(); // "chat id" → its element
    this.threads = new Map(); // place → the thread being written in
    this.mention = true;
    this.root = $("#window").content.cloneNode(true).firstElementChild;
    this.root.dataset.name = told.name;
    $("h2", this.root).textContent = told.title;
    this.log = $(".messages", this.root);
    this.log.setAttribute("aria-label", `${told.title} messages`);
    this.field = $("textarea", this.root);
    this.field.setAttribute("aria-label", `Message on ${told.title}`);
    $(".welcome p", this.root).textContent = WELCOME;
    for (const text of TRIES) {
      const button = element("button", text, { type: "button" });
      button.addEventListener("click", () => this.send(text));
      $(".tries", this.root).append(button);
    }
    this.tabs = told.places.map((place) => {
      const tab = element("button", place.name, { type: "button" });
      tab.setAttribute("role", "tab");
      tab.addEventListener("click", () => this.go(place.id));
      return tab;
    });
    const nav = $("nav", this.root);
    nav.setAttribute("aria-label", `Chats on ${told.title}`);
    nav.append(...this.tabs);
    nav.addEventListener("keydown", (event) => this.arrow(event));
    this.listen();
    this.listenForFiles();
    this.go(told.places[0].id);
  }

  get place() {
    return this.places.find((place) => place.id === this.here);
  }

  listen() {
    $("form", this.root).addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.field.value;
      const { kind, view } = this.aim ?? {};
      (kind === "edit" ? this.change(view, text) : this.send(text, view)).then((sent) => {
        if (!sent) return;
        // What was written while it was on its way is the next message.
        if (this.field.value === text) this.write("");
        if (kind) this.leave();
      });
    });
    this.field.addEventListener("keydown", (event) => {
      // While an input method composes Chinese, Enter chooses a word and must not send.
      const composing = event.isComposing || event.keyCode === 229;
      if (composing) return;
      if (event.key === "Escape" && this.aim) this.leave();
      if (event.key === "ArrowUp" && !this.field.value && !this.aim) this.takeLast(event);
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        $("form", this.root).requestSubmit();
      }
    });
    this.field.addEventListener("input", () => this.grow());
  }

  arrow(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const at = this.places.findIndex((place) => place.id === this.here);
    const next = (at + step + this.places.length) % this.places.length;
    this.go(this.places[next].id);
    this.tabs[next].focus();
  }

  grow() {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight + 2}px`;
  }

  write(text) {
    this.field.value = text;
    this.grow();
  }

  async send(text, replied = null) {
    if (this.sending || (!text.trim() && !this.attached.length)) return false;
    if (!this.attached.length) return act("say", this.said(text, replied));
    const files = [...this.attached];
    const sent = await this.upload(this.said(text, replied), files);
    // What was attached meanwhile stays for the next message, and everything where nothing was sent.
    if (sent) this.attached = this.attached.filter((file) => !files.includes(file));
    this.chips();
    return sent;
  }

  /** What is told of a message that is written here and now. */
  said(text, replied) {
    const body = { platform: this.name, place: this.here, text, mention: this.mention };
    this.pinned = true;
    this.end = null;
    if (replied) return { ...body, thread: replied.thread, chat: replied.chat, id: replied.id };
    return { ...body, thread: this.threads.get(this.here) ?? "" };
  }

  async upload(body, files) {
    const form = new FormData();
    form.append("body", JSON.stringify(body));
    for (const file of files) form.append("file", file, file.name);
    this.sending = true;
    this.chips();
    const sent = await post("send", { "X-Playground": "1" }, form);
    this.sending = false;
    this.chips();
    return sent;
  }

  /** Files come by the button, by dropping and by pasting; a recording goes off as soon as it ends. */
  listenForFiles() {
    const input = $("input[type=file]", this.root);
    const attach = $(".attach", this.root);
    attach.setAttribute("aria-label", `Attach files on ${this.title}`);
    attach.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.attach([...input.files]);
      input.value = "";
    });
    this.field.addEventListener("paste", (event) => {
      if (!event.clipboardData.files.length) return;
      event.preventDefault();
      this.attach([...event.clipboardData.files]);
    });
    const over = (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      this.root.toggleAttribute("data-over", event.type === "dragover");
      if (event.type === "drop") this.attach([...event.dataTransfer.files]);
    };
    for (const kind of ["dragover", "dragleave", "drop"]) this.root.addEventListener(kind, over);
    const record = $(".record", this.root);
    record.hidden = !navigator.mediaDevices || !globalThis.MediaRecorder;
    record.setAttribute("aria-label", `Record a voice message on ${this.title}`);
    record.addEventListener("click", () => (this.recorder ? this.recorder.stop() : this.record(record)));
  }

  attach(files) {
    const large = files.filter((file) => file.size > this.mostBytes);
    if (large.length) problem(`${large[0].name}: at most ${Math.floor(this.mostBytes / 2 ** 20)} MB can be sent on ${this.title}`);
    if (this.aim?.kind === "edit") this.leave();
    this.attached.push(...files.filter((file) => !large.includes(file)));
    this.chips();
    this.field.focus();
  }

  async record(button) {
    if (this.opening) return;
    this.opening = true;
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      return problem("the browser gives this page no microphone");
    } finally {
      this.opening = false;
    }
    const pieces = [];
    this.recorder = new MediaRecorder(stream);
    this.recorder.addEventListener("dataavailable", (event) => pieces.push(event.data));
    this.recorder.addEventListener("stop", async () => {
      const media = this.recorder.mimeType.split(";")[0];
      this.recorder = null;
      button.setAttribute("aria-pressed", "false");
      for (const track of stream.getTracks()) track.stop();
      const file = new File(pieces, `${this.voice}.${media.split("/")[1]}`, { type: media });
      // Discord's voice messages have no words beside them.
      const body = this.said("", this.aim?.kind === "reply" ? this.aim.view : null);
      const told = { ...body, mention: this.mention && this.name !== "discord" };
      if (this.sending || !(await this.upload(told, [file]))) this.attached.push(file);
      this.chips();
    });
    this.recorder.start();
    button.setAttribute("aria-pressed", "true");
  }

  async change(view, text) {
    if (!text.trim()) return false;
    return text.trim() === view.written || act("edit", { platform: this.name, chat: view.chat, id: view.id, text });
  }

  /** What one may do with a message, as its platform lets one. */
  mayDo(view) {
    if (view.ephemeral || view.live) return [];
    return Object.keys(ACTS).filter((kind) => this.offers.includes(kind) && (kind === "reply" || view.written));
  }

  does(kind, view) {
    if (kind !== "delete") return this.take(kind, view);
    act("delete", { platform: this.name, chat: view.chat, id: view.id });
    this.field.focus();
  }

  /** Take a message, to change it or to reply to it with what is written next. */
  take(kind, view) {
    this.leave();
    this.aim = { kind, view };
    if (kind === "edit") {
      this.draft = this.field.value;
      this.write(view.written);
    }
    this.articles.get(`${view.chat} ${view.id}`)?.toggleAttribute("data-aimed", true);
    this.chips();
    this.field.focus();
  }

  /** Take one's last message with the arrow key, as the platforms' own fields do. */
  takeLast(event) {
    const mine = (view) => view.place === this.here && this.mayDo(view).includes("edit");
    const last = [...this.messages.values()].filter(mine).at(-1);
    if (!last) return;
    event.preventDefault();
    this.take("edit", last);
  }

  /** Let go of it again; what was being written before stands in the field once more. */
  leave() {
    if (!this.aim) return;
    const { kind, view } = this.aim;
    this.aim = null;
    if (kind === "edit") this.write(this.draft);
    this.draft = "";
    this.articles.get(`${view.chat} ${view.id}`)?.toggleAttribute("data-aimed", false);
    this.chips();
  }

  /** Show another place of this platform. */
  go(place) {
    this.leave();
    this.aside("");
    this.here = place;
    this.tabs.forEach((tab, index) => {
      const chosen = this.places[index].id === place;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen) tab.classList.remove("unread");
    });
    this.field.placeholder = `Message ${this.place.name}`;
    this.sign({ kind: "clear" });
    this.chips();
    this.redraw();
  }

  /** The small buttons over the field: the mention, and the thread one writes in. */
  chips() {
    const chips = [];
    const changing = this.aim?.kind === "edit";
    $("button[type=submit]", this.root).textContent = this.sending ? "Sending…" : changing ? "Save" : "Send";
    if (this.aim) {
      const { kind, view } = this.aim;
      const text = changing ? "Editing ✕" : `Replying to “${plain(view.html).slice(0, 30)}” ✕`;
      const aim = element("button", text, { type: "button", title: kind === "edit" ? "Leave it as it was" : "Reply to nothing" });
      aim.setAttribute("aria-pressed", "true");
      aim.addEventListener("click", () => {
        this.leave();
        this.field.focus();
      });
      chips.push(aim);
    }
    if (this.place.mention && !changing) {
      const mention = element("button", "@Parley", { type: "button", title: "Mention the bot: in here it hears nothing else" });
      mention.setAttribute("aria-pressed", String(this.mention));
      mention.addEventListener("click", () => {
        this.mention = !this.mention;
        this.chips();
      });
      chips.push(mention);
    }
    if (this.threads.get(this.here) && !this.aim) {
      const thread = element("button", "In the thread ✕", { type: "button", title: "Leave the thread and begin a new one" });
      thread.setAttribute("aria-pressed", "true");
      thread.addEventListener("click", () => this.enter(""));
      chips.push(thread);
    }
    for (const file of this.attached) {
      const chip = element("button", `${file.name} ✕`, { type: "button", title: "Do not send it" });
      chip.setAttribute("aria-pressed", "true");
      chip.addEventListener("click", () => {
        this.attached = this.attached.filter((one) => one !== file);
        this.chips();
        this.field.focus();
      });
      chips.push(chip);
    }
    $(".chips", this.root).replaceChildren(...chips);
  }

  enter(thread) {
    this.threads.set(this.here, thread);
    this.chips();
    this.field.focus();
  }

  redraw() {
    this.articles.clear();
    this.log.replaceChildren($(".welcome", this.root) ?? this.welcome);
    this.welcome = $(".welcome", this.log);
    const shown = [...this.messages.values()].filter((view) => view.place === this.here);
    const between = notes.filter((note) => shown.length && note.at > shown[0].at);
    for (const view of shown) {
      while (between.length && between[0].at < view.at) this.note(between.shift());
      this.draw(view);
    }
    between.forEach((note) => this.note(note));
    this.welcome.hidden = this.articles.size > 0;
    this.pinned = true;
    this.end = null;
    this.follow();
  }

  /** Take a message in its newest form. */
  show(view) {
    const key = `${view.chat} ${view.id}`;
    const known = this.messages.has(key);
    if (view.deleted) this.messages.delete(key);
    else this.messages.set(key, view);
    if (view.author === "bot") {
      if (view.html && !view.live) this.sign({ kind: "clear", place: view.place });
      if (!known && !view.deleted) $("#spoken").textContent = `Parley answers on ${this.title}`;
      this.followThread(view, known);
    }
    if (view.place !== this.here) {
      const tab = this.tabs[this.places.findIndex((place) => place.id === view.place)];
      if (tab && !view.deleted) tab.classList.add("unread");
      return;
    }
    this.pinned = this.inSight(60) || this.pinned;
    if (view.deleted) this.erase(view);
    else this.draw(view);
    // The thread one writes in may stand far above the newest message.
    if (view.thread && view.thread === this.threads.get(this.here)) this.end = this.articles.get(key) ?? null;
    this.welcome.hidden = this.articles.size > 0;
    this.follow();
  }

  /** When the bot opens a thread under what was just written, go on writing there: it remembers by thread. */
  followThread(view, known) {
    if (known || !view.thread || this.threads.get(view.place)) return;
    const said = [...this.messages.values()].filter((one) => one.author === "you" && one.place === view.place);
    const last = said.at(-1);
    if (last && !last.thread && (last.id === view.thread || this.name === "discord")) {
      this.threads.set(view.place, view.thread);
      if (view.place === this.here) this.chips();
    }
  }

  /** Take a message off the page. What stands below it in its thread stays; nobody writes there any more. */
  erase(view) {
    const key = `${view.chat} ${view.id}`;
    const article = this.articles.get(key);
    article?.replaceWith(...$(".replies", article).children);
    this.articles.delete(key);
    if (this.threads.get(this.here) === view.id) this.threads.delete(this.here);
    if (this.aim?.view.id === view.id && this.aim.view.chat === view.chat) this.leave();
    this.chips();
  }

  draw(view) {
    const key = `${view.chat} ${view.id}`;
    let article = this.articles.get(key);
    if (!article) {
      article = $("#message").content.cloneNode(true).firstElementChild;
      this.articles.set(key, article);
      article.dataset.author = view.author;
      $(".name", article).textContent = view.name;
      const time = new Date(view.at * 1000);
      $("time", article).textContent = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      $("time", article).dateTime = time.toISOString();
      article.classList.toggle("can-thread", this.name === "slack" && !view.thread && !view.ephemeral);
      $(".answer", article).addEventListener("click", () => this.enter(view.id));
      this.home(view).append(article);
    }
    article.dataset.live = view.live;
    article.dataset.ephemeral = view.ephemeral;
    $(".edits", article).textContent = view.edits && !view.live ? `edited ${view.edits}×` : "";
    $(".flag", article).textContent = view.ephemeral ? "only you see this" : view.live ? "writing…" : "";
    const quoted = this.messages.get(`${view.chat} ${view.replyTo}`);
    $(".quote", article).textContent = quoted ? plain(quoted.html).slice(0, 120) : "";
    // The emulator made this HTML from the markup it was sent, with every text escaped; the page's policy allows no script.
    const body = $(".body", article);
    if (body.dataset.html !== view.html) {
      // Telegram's line breaks are kept; the one behind a block belongs to the block.
      body.innerHTML = this.name === "telegram" ? view.html.replace(/<\/(pre|blockquote)>\n/g, "</$1>") : view.html;
      body.dataset.html = view.html;
      for (const link of body.querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noreferrer noopener" });
      for (const hidden of body.querySelectorAll(".spoiler")) hidden.tabIndex = 0;
    }
    this.acts(article, view);
    this.keys(article, view);
    this.files(article, view);
  }

  /** Where a message stands: under its thread's first message, or in the log. */
  home(view) {
    const parent = view.thread && this.articles.get(`${view.chat} ${view.thread}`);
    return parent ? $(".replies", parent) : this.log;
  }

  acts(article, view) {
    const kinds = this.mayDo(view);
    const text = plain(view.html).slice(0, 60);
    const shown = kinds.length ? `${kinds.join(" ")}: ${text}` : "";
    if ((article.dataset.acts ?? "") === shown) return;
    article.dataset.acts = shown;
    const buttons = kinds.map((kind) => {
      const button = element("button", ACTS[kind], { type: "button" });
      button.setAttribute("aria-label", `${ACTS[kind]}: ${text}`);
      button.addEventListener("click", () => this.does(kind, this.messages.get(`${view.chat} ${view.id}`) ?? view));
      return button;
    });
    $(".acts", article).replaceChildren(...buttons);
  }

  keys(article, view) {
    const shown = view.buttons.join("\n");
    if (article.dataset.keys === shown) return;
    article.dataset.keys = shown;
    const buttons = view.buttons.map((label) => {
      const button = element("button", label, { type: "button" });
      button.addEventListener("click", () => act("press", { platform: this.name, chat: view.chat, id: view.id, button: label }));
      return button;
    });
    $(".keys", article).replaceChildren(...buttons);
  }

  files(article, view) {
    if (article.dataset.files === String(view.files.length)) return;
    article.dataset.files = view.files.length;
    const links = view.files.map((file, index) => {
      const href = `files/${[this.name, view.chat, view.id, index].map(encodeURIComponent).join("/")}`;
      if (/^image\/(png|jpeg|gif|webp)$/.test(file.media)) return Object.assign(new Image(), { src: href, alt: file.name });
      if (/^audio\//.test(file.media)) {
        const player = Object.assign(new Audio(href), { controls: true, preload: "metadata" });
        player.setAttribute("aria-label", file.name);
        return player;
      }
      return element("a", `📎 ${file.name} (${size(file.size)})`, { href });
    });
    $(".files", article).replaceChildren(...links);
  }

  note(note) {
    this.log.append(element("p", note.text, { className: "note" }));
    this.follow();
  }

  /** A sign of work: typing fades, a status stays until the next message. */
  sign({ kind, text = "", place = this.here }) {
    if (place !== this.here) return;
    if (kind === "aside") return this.aside(text);
    clearTimeout(this.fading);
    const line = $(".sign", this.root);
    line.classList.toggle("busy", kind === "typing" || kind === "status");
    line.textContent = kind === "typing" ? "Parley is typing…" : kind === "clear" ? "" : text;
    if (kind !== "status") this.fading = setTimeout(() => this.sign({ kind: "clear" }), TYPING_SECONDS * 1000);
    if (kind === "clear") clearTimeout(this.fading);
  }

  /** Show what was told to who pressed a button, and to nobody else. */
  aside(text) {
    clearTimeout(this.asideFading);
    $(".aside", this.root).textContent = text && `Parley tells you alone: ${text}`;
    if (text) this.asideFading = setTimeout(() => this.aside(""), ASIDE_SECONDS * 1000);
  }

  state(told) {
    const link = told.platforms[this.name] ?? (told.phase === "ready" ? "" : "not connected");
    $(".link", this.root).textContent = link === "listening" ? "connected" : link;
    const commands = told.commands[this.name] ?? [];
    const hint = this.name === "discord" || this.name === "slack" ? "Slash commands: " : "Commands: ";
    $(".hint", this.root).textContent = commands.length ? hint + commands.join(" ") : "Enter sends, Shift+Enter begins a new line";
  }

  /** How far below the window's lower edge the followed message ends, or the log where none is followed. */
  below() {
    if (!this.end?.isConnected) return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight;
    return this.end.getBoundingClientRect().bottom - this.log.getBoundingClientRect().bottom;
  }

  /** Whether that end can be seen, or is at most so many pixels below. */
  inSight(short = 0) {
    const below = this.below();
    return below <= short && below > -this.log.clientHeight;
  }

  follow() {
    if (this.pinned && !this.inSight()) this.log.scrollTop += this.below();
    this.pinned = false;
  }
}

function size(bytes) {
  const units = ["bytes", "KB", "MB"];
  const power = bytes < 1024 ? 0 : bytes < 2 ** 20 ? 1 : 2;
  return `${(bytes / 1024 ** power).toFixed(power && bytes < 10 * 1024 ** power ? 1 : 0)} ${units[power]}`;
}

function plain(html) {
  return new DOMParser().parseFromString(html, "text/html").body.textContent;
}

let notes = [];
let run = "";

const PHASES = {
  starting: "the bot is starting…",
  ready: "the bot is running",
  pausing: "the bot starts again…",
  failed: "the bot cannot start",
  ended: "the bot has ended",
};

function showState(told) {
  $("#model").dataset.scripted = told.scripted;
  const chosen = told.choices.find((choice) => choice.id === told.chosen);
  $("#model-name").textContent = told.scripted ? "Scripted model" : told.chosen;
  $("#model-note").textContent = told.scripted ? "canned words, no AI" : chosen.label.replace(told.chosen, "").trim();
  const phase = $("#phase");
  phase.dataset.phase = told.phase;
  const detail = told.phase === "ready" ? `pid ${told.pid}${told.busy ? `, answering ${told.busy}` : ""}` : told.message;
  $("span", phase).textContent = detail ? `${PHASES[told.phase]}: ${detail}` : PHASES[told.phase];
  phase.title = $("span", phase).textContent;
  $("#kill").disabled = !["starting", "ready"].includes(told.phase);
  $("#log").textContent = told.log.join("\n") || "nothing yet";
  const others = told.choices.map((choice) => {
    const item = document.createElement("li");
    const text = choice.id === "scripted" ? `Answer with ${choice.label}` : `Answer with ${choice.label} (leaves this machine or costs money)`;
    const local = choice.id.startsWith("ollama:");
    const button = element("button", local ? `Answer with ${choice.label}` : text, { type: "button" });
    button.setAttribute("aria-pressed", String(choice.id === told.chosen));
    button.addEventListener("click", () => {
      $("#models").open = false;
      act("use", { id: choice.id });
    });
    item.append(button);
    return item;
  });
  const more = "More models: set a provider's key (OPENAI_API_KEY, …) in the environment, or start Ollama, and start this anew.";
  if (others.length === 1) others.push(element("li", more));
  $("#choices").replaceChildren(...others);
  for (const chat of windows.values()) chat.state(told);
}

function start(told) {
  // Another playground took the place of the one this page was made for.
  if (run && run !== told.run) return location.reload();
  run = told.run;
  notes = told.notes;
  if (windows.size === 0) {
    for (const one of told.windows) {
      const chat = new Chat(one);
      windows.set(one.name, chat);
      $("#chats").append(chat.root);
    }
    windows.values().next().value?.field.focus();
  }
  for (const chat of windows.values()) {
    chat.messages.clear();
    for (const view of told.messages) if (view.platform === chat.name) chat.messages.set(`${view.chat} ${view.id}`, view);
    chat.redraw();
  }
  showState(told.state);
}

const events = new EventSource("events");
const on = (kind, take) => events.addEventListener(kind, (event) => take(JSON.parse(event.data)));
on("start", start);
on("state", showState);
on("message", (view) => windows.get(view.platform)?.show(view));
on("sign", (sign) => windows.get(sign.platform)?.sign(sign));
on("note", (note) => {
  notes.push(note);
  for (const chat of windows.values()) if (chat.articles.size) chat.note(note);
});
events.addEventListener("error", () => {
  $("#phase").dataset.phase = "gone";
  $("#phase span").textContent = "the playground has ended; start it again in the terminal";
});

$("#kill").addEventListener("click", () => act("kill", {}));
$("#restart").addEventListener("click", () => act("restart", {}));
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = false;
});
