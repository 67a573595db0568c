# Opens pages, each at its address, in the frames of one page of a browser without a window. `script` is the body of a
# function that runs at the end of each and returns text: one string per page.
in_browser <- function(files, script, address = "") {
  folder <- tempfile("view")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  name <- sprintf("%d.html", seq_along(files))
  tell <- sprintf("<script>document.body.dataset.said = encodeURIComponent((() => { %s })())</script></body>", script)
  for (i in seq_along(files)) {
    page <- sub("</body>", tell, paste(readLines(files[i], encoding = "UTF-8"), collapse = "\n"), fixed = TRUE)
    writeLines(page, file.path(folder, name[i]), useBytes = TRUE)
  }
  gather <- "const said = frame => frame.before(`[${frame.contentDocument.body.dataset.said}]`);
    onload = () => document.querySelectorAll('iframe').forEach(said)"
  writeLines(c("<script>", gather, "</script>", sprintf("<iframe src='%s%s'></iframe>", name, address)),
             file.path(folder, "frames.html"))
  dom <- dumped(file.path(folder, "frames.html"))
  said <- regmatches(dom, gregexpr("\\[[^][ ]*\\](?=<iframe)", dom, perl = TRUE))[[1]]
  said <- vapply(substr(said, 2, nchar(said) - 1), utils::URLdecode, "", USE.NAMES = FALSE)
  Encoding(said) <- "UTF-8"
  said
}

# The page as a browser has built it.
dumped <- function(file, address = "", ...) {
  skip_on_cran()
  browser <- Filter(nzchar, Sys.which(c("chromium", "google-chrome", "chromium-browser")))
  if (length(browser) == 0) skip("no browser")
  url <- shQuote(paste0("file://", normalizePath(file), address))
  profile <- tempfile("browser")            # two browsers cannot share one
  on.exit(unlink(profile, recursive = TRUE))
  flags <- c("--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             paste0("--user-data-dir=", profile), "--dump-dom", ...)
  out <- system2(browser[[1]], c(flags, url), stdout = TRUE, stderr = FALSE, timeout = 300)
  paste(out, collapse = "\n")
}

view_of <- function(..., file = tempfile(fileext = ".html")) {
  skip_if_not_installed("jsonlite")
  mil_view(..., file = file, open = FALSE)
}

# Bags 12 to 1, the negative ones first, so that the order given is not that of the canonical form.
some_bags <- function(...) {
  set.seed(1)
  b <- sim_bags(n_bags = 12, bag_size = 4, noise = 1, ...)
  d <- as.data.frame(b)
  bags(as.matrix(b)[48:1, ], rev(d$bag), rev(d$label), truth = rev(d$truth), image_dim = b$image_dim)
}

# Hits and false alarms of bags and instances, as the page counts them and as predict() does.
counted <- "const n = id => document.getElementById(id)?.textContent;
  return ['bag-hits', 'bag-alarms', 'instance-hits', 'instance-alarms'].map(n).join(' ')"
counts <- function(fit, b, threshold = NULL) {
  called <- function(level) {
    if (!is.null(threshold)) return(predict(fit, b, level = level)$.score > threshold)
    predict(fit, b, "class", level = level)$.pred_class == fit$classes[2]
  }
  bag <- called("bag")
  instance <- called("instance")
  truth <- as.data.frame(b)$truth
  paste(sum(bag & b$label), sum(bag & !b$label), sum(instance & truth), sum(instance & !truth))
}

test_that("the page counts what predict() counts, at the threshold in its address", {
  b <- some_bags()
  fit <- fit_to(b)
  score <- sort(predict(fit, b)$.score)
  page <- view_of(fit, b)
  threshold <- c(score[20], mean(score[30:31]), -1, 1e9, fit$calibration$bag$own$threshold)
  address <- c(sprintf("#threshold=%.17g", threshold[1:4]), "#threshold=none")
  expected <- vapply(threshold, function(t) counts(fit, b, t), "")
  expect_identical(in_browser(rep(page, 5), counted, address), expected)
  expect_length(unique(expected), 5)
  hits <- sub(" .*", "", expected[2])
  expect_match(dumped(page, address[2]), paste0("<b id=\"bag-hits\">", hits, "</b>"), fixed = TRUE)
})

test_that("the slider and the field count anew, by bags and by instances", {
  b <- some_bags()
  fit <- fit_to(b)
  page <- view_of(fit, b)
  moves <- "const slider = document.getElementById('slider'), out = [];
    const said = () => { out.push(document.getElementById('decide').dataset.threshold + ' ' + (() => { %s })()) };
    for (const level of document.querySelectorAll('#levels input')) {
      level.click();
      for (let i = 0; i <= Number(slider.max); i += 3) {
        slider.value = i;
        slider.dispatchEvent(new Event('input'));
        said();
      }
      out.push(document.getElementById('roc').dataset.area);
    }
    const field = document.getElementById('threshold');
    field.value = '1.0625';
    field.dispatchEvent(new Event('input'));
    said();
    return out.join('\\n')"
  said <- strsplit(in_browser(page, sprintf(moves, counted)), "\n")[[1]]
  is_area <- !grepl(" ", said)
  area <- function(level) as.numeric(mil_roc(fit, b, level = level)$auc)
  expect_equal(as.numeric(said[is_area]), c(area("bag"), area("instance")), tolerance = 1e-12)
  threshold <- as.numeric(sub(" .*", "", said[!is_area]))
  expect_gt(length(unique(threshold)), 15)
  expect_identical(threshold[length(threshold)], 1.0625)
  expect_identical(sub("[^ ]* ", "", said[!is_area]), vapply(threshold, function(t) counts(fit, b, t), ""))
  # The slider goes from all to none, a score a step.
  by_bags <- threshold[seq_len(which(is_area)[1] - 1)]
  expect_identical(vapply(by_bags, function(t) sum(predict(fit, b, level = "bag")$.score > t), 0L), seq(12L, 0L, -3L))
  expect_identical(sub("[^ ]* ", "", said[which(is_area)[1] + 1]), counts(fit, b, -Inf))
})

test_that("every method has a page, with its atoms where it has some", {
  b <- contract_bags()
  fits <- lapply(mil_methods, function(method) suppressWarnings(seeded(method, b)))
  fits$dmil_kernel <- dmil(b, n_atoms = 2, kernel = "rbf", max_iter = 2)
  pages <- vapply(fits, view_of, "", b)
  shape <- "const all = selector => document.querySelectorAll(selector).length;
    return [all('#atoms figure'), all('#instances .thumb'), all('#instance-parts polyline'), all('#bags .bag'),
            (() => { %s })()].join(' ')"
  columns <- function(name, field) ncol(fits[[name]][[field]])
  atoms <- c(dlfumi = 4, dmil = columns("dmil", "dictionary"), dmil_gmean = columns("dmil_gmean", "dictionary"),
             diverse_density = 2, em_dd = 2, mi_svm = 0, mi_svm_linear = 1, miles = columns("miles", "instances"),
             e_fumi = columns("e_fumi", "dictionary"), mi_ace = 1, mi_smf = 1, mi_ace_several = 2, mi_he = 4,
             mmdl = columns("mmdl", "weights"),
             mmdl_published = columns("mmdl_published", "weights"), sil = 1, dmil_kernel = 0)
  parts <- c(dlfumi = 3, e_fumi = 3, mi_he = 2, dmil = 2, dmil_gmean = 2)[names(fits)]
  parts[is.na(parts)] <- 1
  n <- vapply(fits, function(fit) counts(fit, b), "")
  expect_identical(in_browser(pages, sprintf(shape, counted)), paste(atoms[names(fits)], 6, parts, 40, n))
})

test_that("pictures have row 1 at the top and a grey range of their own", {
  b <- some_bags(image_dim = c(3, 5))
  fit <- fit_to(b)
  page <- view_of(fit, b)
  pixels <- "const data = c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data];
    const read = c => [c.width, c.height, ...data(c).filter((v, i) => i % 4 === 0)].join(',');
    return [...document.querySelectorAll('canvas')].map(read).join('\\n')"
  said <- strsplit(in_browser(page, pixels, "#bag=2"), "\n")[[1]]
  why <- explain(fit, b, bag = "2")
  rank <- order(-why$score)
  norm <- sqrt(rowSums(as.matrix(b["2"])^2))
  parts <- lapply(c("instances", "with", "without"), function(part) attr(why, part) * rep(norm, each = 15))
  grey <- function(v, limits = range(v))
    c(5, 3, t(matrix(round(255 * (v - limits[1]) / diff(limits)), 3, 5)))
  expected <- c(lapply(rank, function(i) grey(parts[[1]][, i])),
                lapply(parts, function(part) grey(part[, rank[1]], range(sapply(parts, function(p) p[, rank[1]])))),
                apply(coef(fit), 1, grey, simplify = FALSE))
  said <- lapply(strsplit(said, ","), as.numeric)
  expect_identical(said[-(5:7)], unname(expected[-(5:7)]))
  # Those of one instance share a range, so that steps are rounded twice.
  expect_lte(max(abs(unlist(said) - unlist(expected))), 1)
  words <- "const text = id => document.getElementById(id).textContent;
    return [text('range-note'), text('instance-note'), document.querySelector('#atoms figcaption').textContent].join('|')"
  expect_match(in_browser(page, words), "own grey range: black.*\\|.*share one grey range.*\\|target 1-?[0-9.]+ to [0-9.]+$")
})

test_that("curves keep their values, and the names of features are at their axis", {
  d <- eight_bags()
  colnames(d$x) <- paste(seq(900, by = 50, length.out = ncol(d$x)), "nm")
  b <- bags_of(d)
  curves <- "const all = selector => [...document.querySelectorAll(selector)].map(n => n.textContent).join('|');
    const values = data.bags.map(bag => [...bag.shown.keys()].sort((i, j) => bag.shown[i] - bag.shown[j]).map(i => [...valuesOf(bag, i, 0)]));
    return [all('.ticks span'), document.querySelectorAll('#instances polyline').length, values.flat(2).join(' ')].join('\\n')"
  said <- strsplit(in_browser(view_of(sil(b), b), curves), "\n")[[1]]
  expect_match(said[1], "^900 nm\\|")
  expect_match(said[1], paste0("\\|", tail(colnames(d$x), 1), "$"))
  expect_identical(said[2], "4")
  values <- matrix(scan(text = said[3], quiet = TRUE), ncol(d$x))
  expect_lte(max(abs(values - t(as.matrix(b)))), max(abs(d$x)) / 255)
})

test_that("curves are over the axis of their bags, and all of few names are at it", {
  set.seed(1)
  x <- matrix(rnorm(16 * 20), 20)
  at <- c(seq(900, 1080, by = 20), seq(1200, 1700, by = 100))
  made <- bags(x, rep(1:10, each = 2), rep(1:0, each = 5), axis = list("wavelength in nm" = at))
  names <- c("alcohol", "magnesium", "blood pressure", "age", "ash", "colour intensity")
  named <- bags(matrix(x[, 1:6], 20, dimnames = list(NULL, names)), rep(1:10, each = 2), rep(1:0, each = 5))
  ticks <- "return [...[...document.querySelectorAll('.ticks span')].map(n => n.textContent), placeOf(1).toFixed(4),
    document.querySelector('.ticks').className, document.querySelector('#instance figcaption').textContent].join('|')"
  said <- in_browser(c(view_of(sil(made), made), view_of(sil(named), named)), ticks)
  expect_match(said[1], "^900\\|1080\\|1300\\|1500\\|1700\\|0.0250\\|ticks\\|Horizontal axis: wavelength in nm. Vertical")
  expect_match(said[2], paste0("^", paste(names, collapse = "\\|"), "\\|0.2000\\|ticks turned\\|Vertical"))
})

test_that("instances are sorted, and those left out are counted and said", {
  b <- some_bags()
  fit <- fit_to(b)
  page <- view_of(fit, b, max_instances = 3)
  order <- "const numbers = () => [...document.querySelectorAll('#instances .thumb')].map(n => n.dataset.number).join(' ');
    const by = document.getElementById('order'), out = [numbers()];
    for (const value of ['score', 'given']) { by.value = value; by.dispatchEvent(new Event('change')); out.push(numbers()) }
    const text = id => document.getElementById(id).textContent;
    return [...out, text('bag-note'), text('summary'), (() => { %s })(),
      [...document.querySelectorAll('#instances b')].map(n => n.textContent).join(' ')].join('\\n')"
  said <- strsplit(in_browser(page, sprintf(order, counted), "#bag=5&threshold=1.05"), "\n")[[1]]
  score <- predict(fit, b["5"])$.score
  shown <- head(order(-score), 3)
  expect_identical(said[1:3], c(paste(shown, collapse = " "), paste(shown[order(-score[shown])], collapse = " "),
                                paste(sort(shown), collapse = " ")))
  expect_match(said[4], "4 instances.*Shown are the 3 with the highest score; 1 more counted but not shown")
  expect_match(said[5], "48 instances.*Shown are 36 of them.*12 more counted")
  expect_identical(said[6], counts(fit, b, 1.05))
  titles <- as.numeric(strsplit(said[7], " ")[[1]])
  expect_equal(titles, score[sort(shown)], tolerance = 1e-2)
  # By default as many as fit.
  expect_identical(fumi:::affordable_instances(c(10, 60), 100), 50)
  expect_identical(fumi:::affordable_instances(rep(100, 1000), 2500), 10)
  expect_identical(fumi:::affordable_instances(rep(100, 1e5), 2500), 1)
})

test_that("names are shown as they are and never run", {
  names <- c("</script><img src=x onerror=\"document.title='run'\">", "<!--<script>", "a \"b\" 'c' \\ d",
             "caf\u00e9 \u5b57 \U1F600", "line\u2028and\ttab\nand\u0001", "&lt;b&gt;", "{{data}}", "__proto__")
  d <- eight_bags()
  class <- c("<i>no</i>", "</script><script>document.title = 'run'</script>")
  colnames(d$x) <- rev(names)[seq_len(ncol(d$x))]
  b <- bags(d$x, rep(names, each = 4), rep(class[2:1], each = 4), positive = class[2])
  title <- "</title><script>document.title = 'run'</script>"
  page <- view_of(fit_to(b), b, title = title)
  shown <- "const all = selector => [...document.querySelectorAll(selector)];
    all('#bags .bag')[4].click();
    return [...all('#bags .id').map(n => n.textContent), document.title, document.images.length, document.scripts.length,
            all('#bag-title')[0].textContent, all('#title')[0].textContent, all('.ticks span')[0].textContent, all('i').length].join('|')"
  expect_identical(in_browser(page, shown), enc2utf8(paste(
    c(names, title, 0, 3, paste0("Bag ", names[5], " (label ", class[1], ")"), title, colnames(d$x)[1], 0), collapse = "|")))
  # An address made by somebody else.
  for (address in c("#bag=%3Cimg%20src=x%20onerror=document.title='run'%3E&filter=%3Cb%3E,miss&find=%3Cscript%3E",
                    "#filter=__proto__,constructor&threshold=alert(1)"))
    expect_match(dumped(page, address), "<title>&lt;/title&gt;&lt;script&gt;", fixed = TRUE)
  latin <- "caf\xe9"
  Encoding(latin) <- "latin1"
  expect_identical(unclass(fumi:::page_json(list(c(latin, "</script><!--")))), "[[\"caf\u00e9\",\"\\u003c\\/script>\\u003c!--\"]]")
  expect_true(validUTF8(fumi:::page_json(list("caf\xe9"))))
})

test_that("odd bags and odd scores have a page", {
  b <- some_bags()
  fit <- fit_to(b)
  unknown <- b
  unknown$truth[1:3] <- NA
  constant <- fit
  constant$dictionary[, 1] <- 0
  no_threshold <- fit
  no_threshold$calibration <- without_calibration(fit)$calibration
  odd <- sil(b, classifier = list(fit = function(x, y) 0, score = function(model, x) rowSums(x)))
  odd$spec$classifier$score <- function(model, x) replace(rep(Inf, nrow(x)), 2, NA)
  one_feature <- bags(matrix(c(1, 2, 3, 4)), 1:4, c(1, 1, 0, 0))
  many <- bags(matrix(rnorm(4000), 1000), 1:1000, rep(0:1, 500))
  pages <- c(one_bag = view_of(fit, b["1"]), unknown = view_of(fit, unknown), constant = view_of(constant, b),
             no_threshold = view_of(no_threshold, b), many = view_of(sil(many), many), odd = view_of(odd, b),
             one_feature = view_of(sil(one_feature, normalize = "none"), one_feature))
  said <- in_browser(pages, "const text = id => document.getElementById(id)?.textContent;
    const bags = [document.querySelectorAll('#bags .bag').length, text('bag-hits') + text('bag-hits-of'), text('roc-note'),
                  text('listed')];
    document.querySelectorAll('#levels input')[1]?.click();
    return [...bags, text('instance-alarms-of'), text('roc-note')].join('|')")
  names(said) <- names(pages)
  expect_match(said[["one_bag"]], "^1\\|0of 1, 0.%\\|No ROC curve: it takes positive and negative bags\\.\\|1 of 1 bag\\|")
  known <- unknown$truth[!is.na(unknown$truth)]
  expect_match(said[["unknown"]], paste0("\\|of ", sum(!known), ",.*3 instances without truth or score left out"))
  expect_match(said[["constant"]], "^12\\|0of 6, 0.%\\|Area under the curve of bags: 0.500")
  expect_match(said[["no_threshold"]], "^12\\|[0-9]of 6, ")
  expect_match(said[["one_feature"]], "^4\\|")
  expect_match(said[["many"]], "^200\\|.*1,000 of 1,000 bags\\|")
  expect_match(said[["odd"]], "1 bag without truth or score left out")
})

test_that("the list can be filtered and walked by keys", {
  b <- some_bags()
  fit <- fit_to(b)
  steps <- "const chip = kind => { document.querySelector(`[data-kind=${kind}]`).click(); return list(); };
    const list = () => [...document.querySelectorAll('#bags .id')].map(n => n.textContent).join(' ');
    const set = (id, value) => {
      const field = document.getElementById(id);
      field.value = value;
      field.dispatchEvent(new Event('input'));
      return list();
    };
    const press = key => {
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      return document.activeElement.textContent + '/' + document.getElementById('bag-title').textContent;
    };
    const out = [set('filter', '1'), set('filter', ''), chip('miss'), chip('alarm'), (chip('miss'), chip('alarm')),
                 set('bag-order', 'down')];
    set('bag-order', 'given');
    document.querySelector('#bags [tabindex=\"0\"]').focus();
    return [...out, press('ArrowDown'), press('End'), press('ArrowDown'), press('Home'),
            document.querySelectorAll('#bags [tabindex=\"0\"]').length,
            [...document.querySelectorAll('#kinds button')].map(n => n.textContent).join(' / ')].join('\\n')"
  said <- strsplit(in_browser(view_of(fit, b), steps), "\n")[[1]]
  top <- predict(fit, b, level = "bag")$.score
  listed <- function(which) paste(b$ids[which], collapse = " ")
  called <- top > fit$calibration$bag$own$threshold
  expect_identical(said[1:6], c(listed(grepl("1", b$ids)), listed(TRUE), listed(b$label & !called), listed(b$label != called),
                                listed(TRUE), listed(order(-top))))
  n <- c(sum(b$label & called), sum(b$label & !called), sum(!b$label & called), sum(!b$label & !called))
  name <- c("hit", "miss", "false alarm", "correct rejection")
  many <- c("hits", "misses", "false alarms", "correct rejections")
  expect_identical(said[12], paste(n, ifelse(n == 1, name, many), collapse = " / "))
  expect_match(said[7], "^11.*/Bag 11 ")
  expect_match(said[8], "^1.*/Bag 1 ")
  expect_match(said[9], "^1.*/Bag 1 ")
  expect_match(said[10], "^12.*/Bag 12 ")
  expect_identical(said[11], "1")
})

test_that("a page is one file that asks for nothing, and what cannot be written is refused", {
  b <- some_bags()
  fit <- fit_to(b)
  opened <- NULL
  old <- options(browser = function(url) opened <<- url)
  on.exit(options(old))
  file <- tempfile(fileext = ".html")
  writeLines("old", file)
  expect_invisible(expect_identical(mil_view(fit, b, file, open = FALSE), file))
  expect_null(opened)
  expect_identical(mil_view(fit, b, file, open = TRUE), file)
  expect_identical(opened, normalizePath(file))
  page <- readLines(file)
  expect_true(any(grepl("default-src 'none'", page)))
  expect_false(any(grepl("(src|href)=|@import|url\\(|fetch\\(|XMLHttpRequest|innerHTML", page)))
  expect_identical(list.files(dirname(file), basename(file)), basename(file))
  expect_identical(mil_view(fit, b, open = FALSE) == file, FALSE)
  expect_error(mil_view(fit, b, file.path(tempdir(), "none", "x.html"), open = FALSE), "`file`", class = "fumi_error_file")
  # Random numbers and the bags stay as they are.
  set.seed(3)
  before <- .Random.seed
  view_of(fit, b)
  expect_identical(.Random.seed, before)
})

test_that("a click on the ROC curve or on the scores sets the threshold", {
  b <- some_bags()
  fit <- fit_to(b)
  click <- "const out = [], said = () => { out.push(document.getElementById('decide').dataset.threshold + ' ' + (() => { %s })()) };
    const at = (box, x, y) => {
      const place = new DOMPoint(x, y).matrixTransform(box.getScreenCTM());
      box.dispatchEvent(new MouseEvent('click', { clientX: place.x, clientY: place.y }));
      said();
    };
    const roc = document.querySelector('#roc svg'), strip = document.querySelector('#strip svg');
    for (const [fpr, tpr] of [[0, 0], [1, 1], [0, .6], [.4, 1]]) at(roc, 40 + 250 * fpr, 260 - 250 * tpr);
    for (const share of [0, .5, 1]) at(strip, 12 + 276 * share, 50);
    return [...out, document.getElementById('cut').getAttribute('x1')].join('\\n')"
  said <- strsplit(in_browser(view_of(fit, b), sprintf(click, counted)), "\n")[[1]]
  threshold <- as.numeric(sub(" .*", "", said[1:7]))
  expect_identical(sub("[^ ]* ", "", said[1:7]), vapply(threshold, function(t) counts(fit, b, t), ""))
  top <- predict(fit, b, level = "bag")$.score
  expect_identical(c(sum(top > threshold[1]), sum(top > threshold[2])), c(0L, 12L))
  # The nearest point of the curve.
  rates <- function(t) c(mean(top[!b$label] > t), mean(top[b$label] > t))
  cuts <- c(-Inf, sort(top))
  away <- function(t, at) sum((rates(t) - at)^2)
  for (i in 3:4) {
    at <- list(c(0, .6), c(.4, 1))[[i - 2]]
    expect_equal(away(threshold[i], at), min(vapply(cuts, away, 0, at)))
  }
  expect_equal(threshold[5:7], c(min(top), mean(range(top)), max(top)), tolerance = 5e-3) # a pixel
  expect_equal(as.numeric(said[8]), 288, tolerance = 5e-3)
})

test_that("what was chosen is written to the address, and read from it", {
  b <- some_bags()
  fit <- fit_to(b)
  page <- view_of(fit, b, title = "Some bags")
  act <- "<script>
    document.querySelector('[data-kind=miss]').click();
    document.querySelector('[data-kind=alarm]').click();
    document.getElementById('filter').value = '1';
    openBag(data.bags[3]);
    setThreshold(1.0625);
    setTimeout(() => document.body.append(`[${location.hash}]`), 1000);
  </script></body>"
  lines <- readLines(page)
  writeLines(sub("</body>", act, lines, fixed = TRUE), page)
  said <- regmatches(dom <- dumped(page, "", "--virtual-time-budget=3000"), regexpr("\\[#[^]]*\\]", dom))
  expect_identical(said, "[#bag=9&amp;threshold=1.0625&amp;filter=miss%2Calarm&amp;find=1]")
  writeLines(lines, page)
  told <- "const text = id => document.getElementById(id).textContent;
    return [document.title, text('bag-title'), decide.dataset.threshold, document.getElementById('filter').value,
            [...document.querySelectorAll('[aria-pressed=true][data-kind]')].map(n => n.dataset.kind)].join('|')"
  expect_identical(in_browser(page, told, "#bag=9&threshold=1.0625&filter=miss%2Calarm&find=1"),
                   "Some bags|Bag 9 (label 0)|1.0625|1|miss,alarm")
  expect_error(view_of(fit, b, title = 1), "`title` must be one string", class = "fumi_error_type")
})

test_that("probabilities are rounded, and a page has a dark mode and one for a phone", {
  b <- some_bags()
  page <- view_of(fit_to(b), b)
  expect_match(readLines(page), "Bags scored by DL-FUMI", fixed = TRUE, all = FALSE)
  near <- "const small = 1.25 * 10 ** (-decimals - 2); return [Number(show(small)) / small > .9, show(small / 1e4), show(0)].join('|')"
  expect_match(in_browser(page, near), "^true\\|0\\|0\\.?0*$")
  words <- "return [probability(7.092e-9), probability(.5), probability(.99999)].join('|') + document.body.innerText"
  said <- in_browser(page, words)
  expect_match(said, "^p < 0.001\\|p = 0.500\\|p > 0.999")
  expect_no_match(said, "[0-9]e-[0-9]")
  phone <- "const bring = Element.prototype.scrollIntoView, seen = [];
    Element.prototype.scrollIntoView = function() { seen.push(this.id) };
    document.querySelectorAll('#bags .bag')[2].click();
    document.getElementById('back').click();
    return [seen, matchMedia('(max-width: 760px)').matches, document.documentElement.scrollWidth <= innerWidth].join(' ')"
  # A frame is 300 pixels wide.
  expect_identical(in_browser(page, phone), "bag,list true true")
  shades <- "const rgb = name => getComputedStyle(document.body)[name]; return rgb('color') + rgb('backgroundColor')"
  act <- sprintf("<script>document.body.dataset.shade = (() => { %s })()</script></body>", shades)
  writeLines(sub("</body>", act, readLines(page), fixed = TRUE), page)
  shade <- function(...) regmatches(dom <- dumped(page, "", ...), regexpr("data-shade=\"[^\"]*\"", dom))
  expect_identical(shade(), "data-shade=\"rgb(27, 31, 36)rgb(243, 245, 247)\"")
  expect_identical(shade("--blink-settings=preferredColorScheme=0"), "data-shade=\"rgb(230, 233, 237)rgb(18, 22, 27)\"")
})

test_that("bytes become the text of RFC 4648, and values 256 steps", {
  skip_if_not_installed("jsonlite")
  vectors <- c(`_` = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", fooba = "Zm9vYmE=", foobar = "Zm9vYmFy")
  for (text in names(vectors)[-1]) expect_identical(fumi:::base64(charToRaw(text)), vectors[[text]])
  expect_no_match(fumi:::base64(as.raw(rep(0, 200))), "[^A-Za-z0-9+/=]")
  expect_identical(fumi:::exact(c(1, NA)), fumi:::base64(writeBin(c(1, NA), raw(), endian = "little")))
  coded <- fumi:::in_steps(cbind(c(-1, 0, .5, 3), 2))
  expect_identical(as.integer(coded$steps), c(0L, 64L, 96L, 255L, 0L, 0L, 0L, 0L))
  expect_identical(coded$limits, cbind(c(-1, 3), c(2, 2)))
})
